# thread/idle.c: the keeper takes what is below a bar before the holder has seen it. Groups: bars
/^static void bar_all/,/^}/s/^    heap->is_spare = !any;/    take_barred(heap);/
