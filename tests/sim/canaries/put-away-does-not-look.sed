# epoch/hold.c: a thread that empties the hold that it left last does not look whether the epoch was closed meanwhile. Groups: epoch
s/^        \*helps = hold_make_idle(hold);/        (void)hold_make_idle(hold);/
