# malloc/fork.c: the child of a fork leaves holds to threads that it does not have. Groups: epoch-fork
s/^        store_plain(&hold->holder, HOLD_IDLE);/        (void)hold;/
