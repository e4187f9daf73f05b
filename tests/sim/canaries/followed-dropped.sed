# slab/partial_list.c: a harvest drops a slab that belongs to another list by now.
s/} else if (swap_seq_cst(&revisit_of(slab)->queued, 1) == 0) {/} else if (false) {/
