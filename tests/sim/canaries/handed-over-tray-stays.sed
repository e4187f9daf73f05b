# thread/overflow.c: the tray that was handed over stays the heap's. Groups: trays
s/^    heap_replace_kept(heap, class, empty);$/    heap_replace_kept(heap, class, hc->kept);/
