# malloc/fork.c: the child of a fork counts anew, and does not look. Groups: fork
/partial_evaluate(slab);/d
