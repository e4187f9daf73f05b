# common/record_ring.c: the words of a record are stored in no order.
/^bool ring_write/,/^}/s/^    store_release(&record->w\(.*\)$/    store_relaxed(\&record->w\1/
/^bool ring_write/,/^}/s/^        store_release(&record->w\(.*\)$/        store_relaxed(\&record->w\1/
