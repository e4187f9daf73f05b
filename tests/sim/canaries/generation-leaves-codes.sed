# core/generation.c: the codes of a slab with handles stay when it ends.
/^void generation_end(/,/^}/s/^    code_clear_run(first, geometry->units);//
