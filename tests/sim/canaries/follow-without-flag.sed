# slab/partial_list.c: a slab that is followed to its new list is not flagged, although it waits on a link of its own. Groups: deep LABELS long TIMEOUT 600
s/} else if (swap_seq_cst(&revisit_of(slab)->queued, 1) == 0) {/} else {/
