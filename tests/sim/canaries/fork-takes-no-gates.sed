# malloc/fork.c: a fork does not wait for the slow operations of others. Groups: fork-policy
/^static void take_gates/,/^}/s/^            lock_acquire(&thread->gate.lock);/            (void)thread;/
/^static void open_gates/,/^}/s/^            lock_release(\&thread->gate.lock);/            (void)thread;/
