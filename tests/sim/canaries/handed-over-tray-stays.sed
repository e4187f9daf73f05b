# thread/overflow.c: the tray that was handed over stays the magazine's.
s/^    heap_give_empty(heap, class, empty);$/    heap_give_empty(heap, class, full);/
