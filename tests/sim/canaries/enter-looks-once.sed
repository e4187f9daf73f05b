# epoch/scope.c: who enters does not look again once it has claimed a hold. Groups: epoch-late
s/^    if (unlikely(!epoch_is_open_as(epoch, value))) {/    if (false) {/
