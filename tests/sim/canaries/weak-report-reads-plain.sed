# epoch/survivors.c: a report reads the length of a large run as if its owner did not resize it meanwhile. Groups: epoch-free
s/owned_load(&run->large_bytes)/run->large_bytes/
