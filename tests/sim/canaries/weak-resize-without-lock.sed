# epoch/epoch_alloc.c: a run of an epoch is resized without the lock under which reports look at it.
/^bool epoch_resize_run/,/^}/s/^    lock_\(acquire\|release\)(epoch_lock(epoch));/    (void)epoch;/
