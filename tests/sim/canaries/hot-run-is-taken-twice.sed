# slab/hot_runs.c: a holder takes a hot run by a look and a store, between which the keeper takes it, too.
s/length_of(run) == n && cas_acquire(&hot->run\[i\], &run, 0)) {/length_of(run) == n) { store_relaxed(\&hot->run[i], 0);/
