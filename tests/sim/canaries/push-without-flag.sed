# slab/partial_list.c: a free queues a slab without asking whether it is on a queue. Groups: revisit
s/^        if (swap_seq_cst(&revisit_of(slab)->queued, 1) != 0) {$/        if (false) {/
