# thread/idle.c: the keeper takes what is below a bar before the holder has seen it. Groups: bars
/^static void look_at_magazines/,/^}/s/^            any |= put_bar(heap, c);/            any |= put_bar(heap, c); take_below(heap, c);/
