# core/generation.c: the codes of a slab with handles stay when it ends.
/^void generation_end(/,/^}/s/^    arena_clear_codes(first, geometry->units);//
