# thread/heap.c: slots stay in the magazine when they are flushed.
s/^        set_magazine(heap, class, magazine_places(m), m->limit, 0);$/        set_magazine(heap, class, magazine_places(m), m->limit, 1);/
