# slab/epoch_record.c: a run drops its pin before it is unlinked. Groups: epoch-free
/^void epoch_recycle_run(/,/^}/{
s/^    epoch_unpin(epoch);//
s/^    epoch_unlink_run(epoch, first);/    epoch_unpin(epoch);\n&/
}
