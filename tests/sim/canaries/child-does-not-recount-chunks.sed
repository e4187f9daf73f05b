# malloc/fork.c: the child of a fork does not count anew the chunk in which a free was cut. Groups: epoch-fork
s/^            recount_noted(thread);/            (void)recount_noted;/
