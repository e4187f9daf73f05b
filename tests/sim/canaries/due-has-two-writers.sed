# report/report_signal.c: a claim does not mind the claims of others.
s/!cas_acquire(&due.is_writing, &nobody, 1)) {/((void)nobody, store_release(\&due.is_writing, 1), false)) {/
/invariant(load_plain(&due.is_writing) == 1/d
