# epoch/scope.c: a thread takes the hold that it remembers when that looks idle, and does not claim it. Groups: epoch-holds
s/^    if (unlikely(owned_load(&hold->epoch) != epoch || !hold_claim(hold, thread))) {/    const bool mine = hold->epoch == epoch \&\& load_relaxed(\&hold->holder) == HOLD_IDLE;\n    if (mine) {\n        store_seq_cst(\&hold->holder, thread);\n    } else {/
