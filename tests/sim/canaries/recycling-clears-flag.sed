# slab/slab.c: opening a slab clears its flag, although it may still be on a queue. Groups: follow LABELS long TIMEOUT 300
/^    store_relaxed(&slab->full, geometry->words);/a\
    store_relaxed(\&revisit_of(slab)->queued, 0);
