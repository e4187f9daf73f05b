# core/scope.c: the child of a fork does not count the holds of an epoch anew whose opening was cut.
s/^            held += stat_get(&hold->holder) != HOLD_TAKEN;/            held = epoch_word_held(stat_get(\&epoch->word));/
