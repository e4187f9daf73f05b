# slab/samples.c: the first sample that ends in a unit lets all frees there be fast. Groups: sample
s/    } else if (count == 0) {/    } else if (by < 0) {/
