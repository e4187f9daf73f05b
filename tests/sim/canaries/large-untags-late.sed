# slab/large.c: a freed run loses its tag once more when it is in the depot already. Groups: large
s/^    large_retire(first, units);/&\n    store_relaxed(\&arena.units[first].tag, TAG_NONE);/
