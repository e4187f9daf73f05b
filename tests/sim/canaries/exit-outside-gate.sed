# thread/thread.c: a thread empties its heap outside of its gate. Groups: fork
/^    gate_\(lock\|unlock\)(\&thread->gate);$/d
