# slab/partial_list.c: no fault, but a mark: the scenarios do reach the place where a queued slab is followed to its new list. Groups: follow
s/^                after->followed = slab;/                fatal("a slab is followed");/
