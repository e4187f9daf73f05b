# slab/samples.c: a sample is noted although sampling has ended meanwhile. Groups: sample
/^bool samples_add/,/^}/s/    if (load_plain(&samples.is_on) != 0) {/    if (true) {/
