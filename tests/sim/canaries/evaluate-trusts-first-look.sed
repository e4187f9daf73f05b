# slab/partial_list.c: an evaluation does not read the word again under the lock that it named. Groups: slab
s/const uint32_t now = load_seq_cst(&slab->word);/const uint32_t now = word;/
