# malloc/current_thread.c: a thread that ends does not close the epoch of its units. Groups: work
s/^        work_unit_close(thread, thread);/        (void)thread;/
