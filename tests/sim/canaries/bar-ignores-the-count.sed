# thread/idle.c: a holder that allocates without a slow operation counts as one that does nothing. Groups: bars-close
/^bool idle_look/,/^}/s/ && handed_out == heap->handed_out_seen;/;/
