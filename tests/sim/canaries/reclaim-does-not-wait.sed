# space/reclaim.c: who reclaims everything does not wait for another purger. Groups: tight
s/^    lock_acquire(&purger.lock);/    if (!lock_try(\&purger.lock)) {\n        return 0;\n    }/
