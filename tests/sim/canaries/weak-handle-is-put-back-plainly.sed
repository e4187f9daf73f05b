# slab/handle_table.c: a look takes the number of the next free entry for an address.
s/^    store_release(&entry->object, next);/    store_plain(\&entry->object, next);/
