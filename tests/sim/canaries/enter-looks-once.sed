# core/scope.c: who enters does not look again once it has claimed a hold.
s/^    if (unlikely(!is_open(epoch, value))) {/    if (false) {/
