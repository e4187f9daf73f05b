# slab/chunk.c: a free of the last object acquires nothing: it recycles a chunk in which others still write.
s/return fetch_sub_seq_cst(&arena.runs\(.*\).live, granules)/return atomic_fetch_sub_explicit(\&arena.runs\1.live, granules, memory_order_release)/
