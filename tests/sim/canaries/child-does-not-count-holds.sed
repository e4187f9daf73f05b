# malloc/fork.c: the child of a fork does not count the holds of an epoch anew whose opening was cut. Groups: epoch-fork
s/^            held += load_plain(&hold->holder) != HOLD_TAKEN;/            held = epoch_word_held(load_plain(\&epoch->word));/
