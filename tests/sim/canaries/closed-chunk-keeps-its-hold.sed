# slab/chunk.c: a chunk that is closed is still that of its hold. Groups: epoch-free
/^bool chunk_close(/,/^}/{
s/^    store_plain(&chunk->chunk.filler, NULL);//
}
