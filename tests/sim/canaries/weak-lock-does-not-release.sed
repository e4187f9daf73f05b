# os/lock.c: letting go of a lock releases nothing. Groups: slab
s/cas_release(&lock->word, &word, 0)/atomic_compare_exchange_strong_explicit(\&lock->word, \&word, 0, memory_order_relaxed, memory_order_relaxed)/
