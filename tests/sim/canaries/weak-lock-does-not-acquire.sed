# os/lock.c: taking a free lock acquires nothing: what the last holder wrote may not be there yet. Groups: slab
s/cas_acquire(&lock->word, &word, HELD)/atomic_compare_exchange_strong_explicit(\&lock->word, \&word, HELD, memory_order_relaxed, memory_order_relaxed)/
