# slab/chunk.c: after an object shrank in its chunk, the next sample stays where it was.
s/if (samples_are_on()) { \/\* what is allocated in the same granules next may be sampled, too \*\//if (false) {/
