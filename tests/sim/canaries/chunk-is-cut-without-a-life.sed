# slab/chunk.c: after an object shrank, a sample is drawn also in a chunk that began before there were any. Groups: sample
s/^        if (samples_are_on() && owned_load(&chunk_of(cursor)->life) != 0) {/        if (samples_are_on()) {/
