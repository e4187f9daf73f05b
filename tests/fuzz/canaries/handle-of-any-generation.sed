# malloc/handle.c: a handle names the object in its slot, whoever that was lent to.
/^void \*handle_get(/,/^}/s/load_acquire(place_word(p)) == place_lent(name.generation)/(load_acquire(place_word(p)) \& PLACE_LENT) != 0 \&\& name.generation != 0/
