# report/report_signal.c: a thread that has claimed the report does not look again whether it is due. Groups: due
s/^    if (report_is_asked()) {$/    if (true) {/
