# thread/thread.c: the record of a thread that a fork cut while it took a sample takes no more of them. Groups: sample-fork
/thread->is_sampling = false;/d
