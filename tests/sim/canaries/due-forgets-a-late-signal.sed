# report/report_signal.c: what asked for a report is forgotten when the report is written, not when it begins. Groups: due
/^        store_plain(&report_signal.is_asked, 0);.*$/d
s/^        report_signal\.write();$/&\n        store_plain(\&report_signal.is_asked, 0);/
