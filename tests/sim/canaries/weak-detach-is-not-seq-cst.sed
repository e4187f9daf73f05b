# slab/partial_list.c: a detach acquires and releases, no more: it and a give may both miss each other. Groups: slab
s/(void)swap_seq_cst(&slab->word, word)/(void)atomic_exchange_explicit(\&slab->word, word, memory_order_acq_rel)/
