# epoch/hold.c: a leave acquires and releases, no more: it and a close may both pass by the idle hold. Groups: epoch
s/(void)swap_seq_cst(&hold->holder, HOLD_IDLE)/(void)atomic_exchange_explicit(\&hold->holder, HOLD_IDLE, memory_order_acq_rel)/
