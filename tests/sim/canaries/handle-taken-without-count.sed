# slab/handle_table.c: the list of free entries does not count, and takes an entry that came back for one that stayed. Groups: epoch-handle
s/((head >> NUMBER_BITS) + 1) << NUMBER_BITS | next/head >> NUMBER_BITS << NUMBER_BITS | next/
