# epoch/survivors.c: a report counts without the lock of the epoch. Groups: report
/^void survivors_count/,/^}/s/^    lock_\(acquire\|release\)(epoch_lock(epoch));/    (void)0;/
