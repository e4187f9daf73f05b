# slab/chunk.c: the code of an object that was freed while the codes were moved stays in the descriptor. Groups: holes
/^static void move_codes(/,/^}/s/^            store_relaxed(&chunk->chunk.kept\[kept\], 0);/            kept++;/
