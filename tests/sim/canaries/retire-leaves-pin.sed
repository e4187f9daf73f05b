# epoch/ending.c: a record that retires at once keeps its pin: a release of an earlier life raises it. Groups: epoch-late
/^static void drain_or_retire(/,/^}/s/if (cas_seq_cst(&epoch->pins, &pins, 0)) {/if (load_acquire(\&epoch->pins) == pins) {/
