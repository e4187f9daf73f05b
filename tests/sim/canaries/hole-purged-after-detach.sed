# core/holes.c: the free pages of a slab are purged when it is not the purger's any more.
s/^    for (unsigned slot = 0; slot < geometry->slots;) {/    for (unsigned w = 0; w < geometry->words; w++) {\n        if (taken[w] != 0) {\n            (void)slab_give(slab, geometry, w, taken[w]);\n        }\n    }\n    partial_detach(slab);\n&/
s/^            (void)slab_give(slab, geometry, w, taken\[w\]); .*/            (void)w;/
s/^    partial_detach(slab);$/    (void)done;/
