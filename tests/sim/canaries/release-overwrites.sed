# os/lock.c: letting go is a store, that loses who queued or went to sleep since the last look. Groups: lock
s/} else if (cas_release(&lock->word, &word, 0)) {/} else if (store_release(\&lock->word, 0), true) {/
