# core/due.c: in the child of a fork, the report that another thread has claimed stays claimed.
/^void due_is_cut/,/^}/{/is_writing/d}
