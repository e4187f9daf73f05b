# malloc/handle.c: the free of a handle looks, then clears.
s/!cas_acq_rel(place_word(p), &word, place_free(name.generation))/load_acquire(place_word(p)) != word || (store_release(place_word(p), place_free(name.generation)), false)/
