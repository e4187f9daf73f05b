# slab/slab.c: bits are taken by a load and a store. Groups: slab
s/swap_acquire(&slab->bitmap\[word\], 0);/load_acquire(\&slab->bitmap[word]);\n    store_relaxed(\&slab->bitmap[word], 0);/
