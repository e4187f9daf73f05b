# report/report_signal.c: what a report has written is not released to the next one. Groups: due
s/store_release(&report_signal.is_writing, 0)/store_plain(\&report_signal.is_writing, 0)/
