# core/thread.c: a fork does not wait for the slow operations of others.
/^void thread_fork_prepare/,/^}/s/^            lock_acquire(&thread->gate);/            (void)thread;/
/^void thread_fork_done/,/^}/s/^            lock_release(\&thread->gate);/            (void)thread;/
