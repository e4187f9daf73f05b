# slab/chunk.c: after an object shrank in its chunk, the next sample stays where it was. Groups: sample
s/^        if (samples_are_on() \&\& owned_load(&chunk_of(cursor)->life) != 0) {/        if (false) {/
