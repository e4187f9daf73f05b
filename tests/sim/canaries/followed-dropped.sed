# slab/partial_list.c: a harvest drops a slab that belongs to another list by now. Groups: follow LABELS slow TIMEOUT 300 COST 25
s/} else if (swap_seq_cst(&revisit_of(slab)->queued, 1) == 0) {/} else if (false) {/
