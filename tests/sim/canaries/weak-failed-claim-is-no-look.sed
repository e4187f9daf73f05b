# epoch/hold.c: a claim for a close that fails returns what the hold may have been before its thread left. Groups: epoch
s/cas_seq_cst(&hold->holder, &found, HOLD_TAKEN)/atomic_compare_exchange_strong_explicit(\&hold->holder, \&found, HOLD_TAKEN, memory_order_seq_cst, memory_order_relaxed)/
