# thread/idle.c: the keeper does not look where the holder is by now. Groups: bars-close
/^static void take_below/,/^}/s/owned_acquire(&m->top) <= places + bar/false/
