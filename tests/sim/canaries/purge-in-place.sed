# core/reclaim.c: a run goes back to the depot before its pages are purged.
s/^    const bool purged = to > from && reclaim_pages/    depot_put_purged(first, n, false);\n&/
s/^    depot_put_purged(first, n, purged);/    (void)purged;/
