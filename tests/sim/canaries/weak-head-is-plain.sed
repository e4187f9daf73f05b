# slab/partial_list.c: the head of a list is written by a plain store, although others glance at it without the lock. Groups: slab
s/^        store_plain(&partial->head, index);/        *(uint32_t *)(uintptr_t)\&partial->head = index;/
