# thread/heap.c: slots stay in the magazine when they are flushed. Groups: outbox
s/^        heap_set_magazine(heap, class, magazine_places(m), m->limit, 0);$/        heap_set_magazine(heap, class, magazine_places(m), m->limit, 1);/
