# core/handle.c: a handle names the object in its slot, whoever that was lent to.
/^void \*handle_get(/,/^}/s/load_acquire(lent(p)) == lent_word(generation)/load_acquire(lent(p)) != 0 \&\& generation != 0/
