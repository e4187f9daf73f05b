# slab/epoch_record.c: an epoch counts as open whatever its generation is. Groups: epoch-late
s/return epoch_same_generation(word, value) && epoch_word_state(word) == EPOCH_OPEN;/(void)value;\n    return epoch_word_state(word) == EPOCH_OPEN;/
