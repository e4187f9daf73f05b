# thread/heap.c: what was flushed of an outbox stays counted. Groups: outbox
/^void heap_flush_outbox/,/^}/s/^        counter_set(&hc->outbox_slots, 0);$//
