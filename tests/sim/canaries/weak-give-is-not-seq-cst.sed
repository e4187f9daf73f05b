# slab/slab.c: a give acquires and releases, no more: it and a detach may both miss each other. Groups: slab
s/fetch_add_seq_cst(&slab->bitmap\[word\], mask)/atomic_fetch_add_explicit(\&slab->bitmap[word], mask, memory_order_acq_rel)/
