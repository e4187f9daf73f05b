# malloc/fork.c: the child of a fork does not count anew the chunk in which a free was cut.
s/^            recount_noted(thread);/            (void)recount_noted;/
