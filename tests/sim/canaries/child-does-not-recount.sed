# malloc/fork.c: the child of a fork does not count anew what a give was cut in. Groups: fork
/slab_recount(slab, /d
