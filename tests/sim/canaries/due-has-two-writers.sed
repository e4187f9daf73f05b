# report/report_signal.c: a claim does not mind the claims of others. Groups: due
s/!cas_acquire(&report_signal.is_writing, &nobody, 1)) {/((void)nobody, store_release(\&report_signal.is_writing, 1), false)) {/
/invariant(load_plain(&report_signal.is_writing) == 1/d
