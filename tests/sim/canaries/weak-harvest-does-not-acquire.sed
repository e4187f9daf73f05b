# slab/partial_list.c: a harvest clears the flag and acquires nothing: it may read bits from before a give that still saw the flag. Groups: slab
/^static void partial_harvest(/,/^}/s/(void)swap_seq_cst(&revisit_of(slab)->queued, 0)/(void)atomic_exchange_explicit(\&revisit_of(slab)->queued, 0, memory_order_release)/
