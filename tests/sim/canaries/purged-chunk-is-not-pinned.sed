# slab/chunk.c: the purger of free pages does not pin a chunk. Groups: holes
s/cas_seq_cst(&chunk->live, &live, live + 1)/cas_seq_cst(\&chunk->live, \&live, live)/
s/return fetch_sub_seq_cst(&arena.runs\[first\].live, 1) == 1;/return false;/
