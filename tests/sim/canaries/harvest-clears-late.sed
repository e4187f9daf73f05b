# slab/partial_list.c: a harvest reads the slab's word before it clears the flag: a free in between relies on that look. Groups: deep LABELS long TIMEOUT 600
/^        (void)swap_seq_cst(&revisit_of(slab)->queued, 0);/d
/^        const uint32_t word = load_seq_cst(&slab->word);/a\
        (void)swap_seq_cst(&revisit_of(slab)->queued, 0);
