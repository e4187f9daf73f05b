# core/reclaim.c: a run goes back to the depot before its pages are purged.
s/^    const bool purged = to > from && reclaim_pages/    depot_put(first, n, false);\n&/
s/^    depot_put(first, n, purged && .*/    (void)purged;/
