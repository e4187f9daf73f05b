# space/limit.c: a thread that is in no gate reads the limits with their lock, as a posting does beside a fork.
/^void limit_get/,/^}/{s/^    uint64_t number;$/&\n    lock_acquire(\&limits_set.lock);/;s/^    } while.*$/&\n    lock_release(\&limits_set.lock);/}
