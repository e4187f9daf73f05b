# slab/generation.c: the codes of a slab with handles stay when it ends.
/^void generation_end(/,/^}/s/^    size_code_clear_run(first, geometry->units);//
