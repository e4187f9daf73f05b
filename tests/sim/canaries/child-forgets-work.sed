# malloc/fork.c: the child of a fork does not close the epochs of units of threads that it does not have. Groups: fork-policy
s/^                work_unit_close(self, thread);/            (void)thread;/
