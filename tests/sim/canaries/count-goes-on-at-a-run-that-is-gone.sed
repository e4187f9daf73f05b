# epoch/survivors.c: a report goes on at the next run, although runs were unlinked while it let go of the lock. Groups: report
/^static bool lock_yield(/,/^}/s/return counter_get.*/return counter_get(\&epoch->recycled_runs) >= recycled \&\& generation != 1;/
