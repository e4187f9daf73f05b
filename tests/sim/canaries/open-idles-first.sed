# core/scope.c: an opening makes its holds idle before the word counts them: a helper of an earlier life subtracts from nothing.
s/^        held++;/        store_release(\&hold->holder, HOLD_IDLE);\n&/
