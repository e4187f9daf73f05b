# slab/chunk.c: the table sends a free to the descriptor, and the code comes there later. Groups: holes
/^static void move_codes(/,/^}/{
s/^        store_release(&chunk->chunk.kept\[kept\], .*);//
s/^            kept++;/            store_release(\&chunk->chunk.kept[kept++], (uint32_t)at[i] << KEPT_SHIFT | code);/
}
