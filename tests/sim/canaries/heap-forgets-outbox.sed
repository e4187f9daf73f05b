# thread/heap.c: a heap that ends loses its outbox. Groups: outbox
/^static void empty_class/,/^}/s/^    heap_flush_outbox(heap, class);$//
/^static void put_trays/,/^}/{
s/ && counter_get(&hc->outbox_slots) == 0//
s/^        hc->outbox = NULL;$/&\n        counter_set(\&hc->outbox_slots, 0);/
}
