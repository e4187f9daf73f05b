# epoch/ending.c: who finishes drops its pin before the word says DRAINING: the last free retires a record that is not ready. Groups: epoch-free
/^static void drain_or_retire(/,/^}/{
s/^    epoch_unpin(epoch);//
s/^    store_seq_cst(&epoch->word, .*EPOCH_DRAINING));/    epoch_unpin(epoch);\n&/
}
