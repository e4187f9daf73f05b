# report/report_signal.c: what asked for a report is forgotten when the report is written, not when it begins.
/^        store_plain(&due.is_asked, 0);.*$/d
s/^        due\.write();$/&\n        store_plain(\&due.is_asked, 0);/
