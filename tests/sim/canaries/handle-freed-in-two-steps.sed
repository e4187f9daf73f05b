# core/handle.c: the free of a handle looks, then clears.
s/!cas_acq_rel(lent(p), &word, 0)/load_acquire(lent(p)) != word || (store_release(lent(p), 0), false)/
