# core/thread.c: a thread empties its heap outside of its gate.
/^    gate_\(enter\|leave\)(thread);$/d
