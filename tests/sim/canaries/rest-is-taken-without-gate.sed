# thread/resting.c: a thread that begins takes a heap that another is about to empty.
/^struct heap \*resting_take/,/^}/{
s/ || !lock_try(&heap->gate->lock)//
/lock_release/d
}
