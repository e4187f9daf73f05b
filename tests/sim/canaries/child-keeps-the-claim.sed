# thread/report_timer.c: in the child of a fork, the report that another thread has claimed stays claimed.
/^void report_timer_is_cut/,/^}/{/is_writing/d}
