# report/report.c: a backslash in a label is written as it is, which is no JSON.
s/ || \*c == '"' || \*c == '\\\\')/ || *c == '"')/
