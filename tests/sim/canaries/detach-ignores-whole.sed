# slab/partial_list.c: who finds a slab partial does not look whether it is empty by now. Groups: slab
/^        state = SLAB_PARTIAL;/d
