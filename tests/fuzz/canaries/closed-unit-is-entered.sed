# epoch/work_unit.c: the epoch of units that was closed by hand is not replaced, and the next unit has none.
s/if (status == TSLAB_STALE || status == TSLAB_CLOSED) {/if (work->epoch == 0) {/
