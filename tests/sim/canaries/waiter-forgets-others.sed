# os/lock.c: who is woken does not say that others may still sleep.
s/word | HELD | WAITERS/word | HELD/
