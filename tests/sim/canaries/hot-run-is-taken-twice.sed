# slab/hot_runs.c: a holder takes a hot run by a look and a store, between which the keeper takes it, too. Groups: keeper-hot
s/        if (cas_acquire(&hot->run\[place\], &run, 0)) {/        { store_relaxed(\&hot->run[place], 0);/
