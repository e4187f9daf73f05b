# slab/slab.c: a give releases nothing: the next user may come before the last writes of this one. Groups: slab
s/fetch_add_seq_cst(&slab->bitmap\[word\], mask)/atomic_fetch_add_explicit(\&slab->bitmap[word], mask, memory_order_acquire)/
