# slab/slab.c: a give reads the word before it gives its bits: a detach in between sees none of them. Groups: slab
s/^    const uint64_t old = fetch_add_seq_cst/    const uint32_t early = load_seq_cst(\&slab->word);\n&/
s/word_state(load_seq_cst(&slab->word))/word_state(early)/
