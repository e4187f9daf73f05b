# slab/slab.c: a give counts the whole word after it read the slab's word. Groups: slab
/^    bool look = old == 0;/i\
    const uint32_t early = load_seq_cst(\&slab->word);
s/word_state(load_seq_cst(&slab->word))/word_state(early)/
