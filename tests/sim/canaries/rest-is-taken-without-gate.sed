# thread/resting.c: a thread that begins takes a heap that another is about to empty. Groups: rest
/^struct heap \*resting_take/,/^}/{
s/is_later && lock_try(&heap->gate->lock)/is_later/
/lock_release/d
}
