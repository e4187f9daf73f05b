# epoch/survivors.c: a report reads the length of a large run as if its owner did not resize it meanwhile.
s/owned_load(&run->large_bytes)/run->large_bytes/
