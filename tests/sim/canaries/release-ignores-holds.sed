# epoch/ending.c: a release does not ask whether it has all holds. Groups: epoch
/^        epoch_word_held(word) == taken + 1 &&$/d
