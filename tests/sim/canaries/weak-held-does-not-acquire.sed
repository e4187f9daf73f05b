# epoch/ending.c: who brings the count of holds to 0 acquires nothing: it finishes before the others are done. Groups: epoch-late
s/= fetch_sub_seq_cst(&epoch->word, n << EPOCH_HELD_SHIFT)/= atomic_fetch_sub_explicit(\&epoch->word, n << EPOCH_HELD_SHIFT, memory_order_release)/
