# malloc/fork.c: the child of a fork does not complete a close that waits for threads that it does not have. Groups: epoch-fork
/^static struct epoch \*recover_epochs(/,/^}/s/^            closed = epoch;/            (void)closed;/
