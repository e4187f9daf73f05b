# malloc/object.c: a slow operation does not look whether a report is due. Groups: due
/^    trace_after_slow();$/d
