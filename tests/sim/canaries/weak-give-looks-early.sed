# slab/slab.c: the look of a give at the word is not seq_cst: it may return what was before a detach that missed the bits. Groups: slab
s/word_state(load_seq_cst(&slab->word))/word_state(load_acquire(\&slab->word))/
