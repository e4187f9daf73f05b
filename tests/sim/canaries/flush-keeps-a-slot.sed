# thread/heap.c: slots stay in the magazine when they are flushed.
s/^        flushed_magazine(heap, class, slots, 0);$/        flushed_magazine(heap, class, slots - 1, 1);/
