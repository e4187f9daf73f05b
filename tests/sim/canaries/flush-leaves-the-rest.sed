# core/heap.c: the rest of a magazine is not moved down when its older half is flushed.
s/^    memmove(places + 1, .*$//
