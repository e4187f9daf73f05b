# slab/chunk.c: a free of the last object acquires nothing: it recycles a chunk in which others still write. Groups: epoch-free
s/return fetch_sub_seq_cst(&chunk->live, granules)/return atomic_fetch_sub_explicit(\&chunk->live, granules, memory_order_release)/
