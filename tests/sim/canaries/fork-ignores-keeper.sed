# malloc/fork.c: a fork does not wait for the keeper. Groups: keeper-fork
s/^    lock_acquire(&keeper.lock);//
s/^    lock_release(&keeper.lock);//
