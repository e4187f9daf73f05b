# slab/holes.c: the free pages of a slab are purged when it is not the purger's any more. Groups: holes sweep
s/^    for (struct slot_row row = .*/    for (unsigned w = 0; w < geometry->words; w++) {\n        if (taken.word[w] != 0) {\n            (void)slab_give(slab, geometry, w, taken.word[w]);\n        }\n    }\n    partial_detach(slab);\n&/
s/^            (void)slab_give(slab, geometry, w, taken.word\[w\]); .*/            (void)w;/
s/^    partial_detach(slab);$/    (void)done;/
s/ && word_state(load_plain(&slab->word)) == SLAB_ATTACHED);/);/
