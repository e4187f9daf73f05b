# thread/sampling.c: a place is handed out, and what was sampled there before is not ended.
/^static void end_before(/,/^}/s/ && samples_find((uintptr_t)p) != 0/ \&\& false/
