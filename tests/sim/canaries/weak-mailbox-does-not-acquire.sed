# thread/mailbox.c: whoever claims a letter acquires nothing.
s/cas_acquire(&letter->count, &posted, LETTER_TAKEN)/atomic_compare_exchange_strong_explicit(\&letter->count, \&posted, LETTER_TAKEN, memory_order_relaxed, memory_order_relaxed)/
