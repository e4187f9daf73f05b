# epoch/hold.c: who closes claims a hold by a load and a store. Groups: epoch
s/^    return cas_seq_cst(&hold->holder, &found, HOLD_TAKEN);/    found = load_seq_cst(\&hold->holder);\n    if (found == HOLD_IDLE) {\n        store_seq_cst(\&hold->holder, HOLD_TAKEN);\n    }\n    return found == HOLD_IDLE;/
