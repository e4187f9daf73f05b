# epoch/ending.c: who brings the count to 0 after the close does not finish the epoch. Groups: epoch
s/^        (void)drop_held(thread, epoch, n, NULL);/        (void)thread;\n        (void)fetch_sub_seq_cst(\&epoch->word, n << EPOCH_HELD_SHIFT);/
