# report/report_timer.c: what another process asks for is done without the claim.
/^static void write_or_post/,/^}/{
s/^    if ((has_to_obey(late_ms) || has_come()/    if (has_to_obey(late_ms)) {\n        due.do_wanted();\n    }\n    if ((has_come()/
}
s/invariant(load_plain(&due.is_writing) == 1[^;]*;/(void)0;/
