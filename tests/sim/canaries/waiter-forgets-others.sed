# os/lock.c: who is woken does not say that others may still sleep. Groups: lock
s/word | HELD | WAITERS/word | HELD/
