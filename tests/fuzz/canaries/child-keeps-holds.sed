# core/scope.c: the child of a fork leaves holds to threads that it does not have.
s/^        stat_set(&hold->holder, HOLD_IDLE);/        (void)hold;/
