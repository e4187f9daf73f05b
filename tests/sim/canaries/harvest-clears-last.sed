# slab/partial_list.c: a harvest clears the flag after its look: a free in between relies on a look that was. Groups: revisit
/^        (void)swap_seq_cst(&revisit_of(slab)->queued, 0);/d
/^        length++;/i\
        (void)swap_seq_cst(\&revisit_of(slab)->queued, 0);
