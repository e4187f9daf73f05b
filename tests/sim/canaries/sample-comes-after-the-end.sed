# slab/samples.c: a sample is noted although sampling has ended meanwhile.
/^void samples_add/,/^}/s/load_plain(&samples.is_on) == 0/false/
