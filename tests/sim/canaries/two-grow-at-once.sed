# space/growth.c: two threads map the next addresses of the arena at once. Groups: growth
/^void growth_lock/,/^}/s/^    lock_acquire(&growing);/    (void)growing;/
/^void growth_unlock/,/^}/s/^    lock_release(&growing);//
s/lock_is_held(&growing) && //
