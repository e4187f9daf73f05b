# epoch/scope.c: who leaves does not look whether the epoch was closed meanwhile. Groups: epoch
s/if (unlikely(hold_make_idle(hold))) {/if (hold_make_idle(hold) \&\& false) {/
