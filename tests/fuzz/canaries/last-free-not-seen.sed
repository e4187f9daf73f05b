# slab/chunk.c: the free of the last object of a chunk by another than its holder is not seen.
/^bool chunk_free_other(/,/^}/s/, granules) == granules;/, granules) == 0;/
