# core/object.c: a slow operation does not look whether a report is due.
/^    due_write_if_armed();$/d
