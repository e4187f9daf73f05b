# slab/partial_list.c: a harvest reads the link after it cleared the flag: by then the slab may be on another queue. Groups: revisit
/^        queue = load_relaxed(&revisit_of(slab)->queue_next);/d
/^        (void)swap_seq_cst(&revisit_of(slab)->queued, 0);/a\
        queue = load_relaxed(\&revisit_of(slab)->queue_next);
