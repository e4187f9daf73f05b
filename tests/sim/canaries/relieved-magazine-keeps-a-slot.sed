# thread/heap.c: a slot stays in the magazine when a part of it goes back.
s/^    flushed_magazine(heap, class, slots - left, left);$/    flushed_magazine(heap, class, slots - left - 1, left + 1);/
