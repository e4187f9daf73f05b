# slab/handle_table.c: a look takes the number of the next free entry for an address. Groups: epoch-handle
s/^    store_release(&entry->object, next);/    store_plain(\&entry->object, next);/
