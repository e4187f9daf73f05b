# space/reclaim.c: a run goes back to the depot before its pages are purged. Groups: depot
s/^    } else if (purge_units(from, to)) {/    } else if ((depot_put_purged(first, n), purge_units(from, to))) {/
s/^        depot_put_purged(first, n);//
