# thread/heap.c: slots stay in the magazine when they are flushed. Groups: outbox
s/^        set_magazine(heap, class, magazine_places(m), m->limit, 0);$/        set_magazine(heap, class, magazine_places(m), m->limit, 1);/
