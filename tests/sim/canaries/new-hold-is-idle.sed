# slab/epoch_record.c: a new hold is idle before it is counted. Groups: epoch
/^struct hold \*epoch_link_hold(/,/^}/s/^    invariant(load_plain(&hold->heap) == NULL);/    atomic_store_explicit(\&hold->holder, HOLD_IDLE, memory_order_relaxed);\n&/
