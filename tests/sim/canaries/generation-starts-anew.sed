# slab/generation.c: a unit forgets the generations of its places when their slab ends.
/^void generation_end(/,/^}/s/^    set_units(first, geometry->units, highest);/    (void)highest;/
