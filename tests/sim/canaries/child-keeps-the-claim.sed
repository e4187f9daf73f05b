# report/report_signal.c: in the child of a fork, the report that another thread has claimed stays claimed. Groups: due
/^static void forget_the_writer/,/^}/{/is_writing/d}
