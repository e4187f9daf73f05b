# report/report_timer.c: a claim does not mind the claims of others.
s/return cas_acquire(&due.is_writing, &nobody, 1);/(void)nobody;\n    store_release(\&due.is_writing, 1);\n    return true;/
/invariant(load_plain(&due.is_writing) == 1/d
