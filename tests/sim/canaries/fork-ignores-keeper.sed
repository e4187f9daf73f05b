# malloc/fork.c: a fork does not wait for the keeper.
s/^    lock_acquire(&keeper.lock);//
s/^    lock_release(&keeper.lock);//
