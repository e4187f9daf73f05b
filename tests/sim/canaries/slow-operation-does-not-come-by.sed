# malloc/object.c: a slow operation does not look whether a report is due.
/^    report_timer_write_if_armed();$/d
