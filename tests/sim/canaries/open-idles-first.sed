# epoch/scope.c: an opening makes its hold idle before the word counts it: a helper of an earlier life subtracts from nothing. Groups: epoch-late
s/^    invariant(load_plain(&epoch->first.heap) == NULL);/    store_release(\&epoch->first.holder, HOLD_IDLE);\n&/
