# core/survivors.c: a report counts without the lock of the epoch.
/^void survivors_count/,/^}/s/^    lock_\(acquire\|release\)(&epoch->lock);/    (void)0;/
