# core/scope.c: a new hold is idle before it is counted.
/^static noinline struct hold \*make_hold(/,/^}/s/store_relaxed(&hold->holder, HOLD_TAKEN)/store_relaxed(\&hold->holder, HOLD_IDLE)/
