# malloc/fork.c: the child of a fork does not count anew the full chunks of vanished threads. Groups: epoch-fork
s/^            chunk_recount_full(at);/            (void)at;/
