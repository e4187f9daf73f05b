# thread/idle.c: the holder leaves the slots where they are. Groups: bars
/^void gate_unbar/,/^}/s/^            memmove(.*//
