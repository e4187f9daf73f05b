# space/reclaim.c: a run goes back to the depot before its pages are purged. Groups: depot
s/^        const bool purged = purge_units(from, to);/        (void)put_part(first, end - first, to - first, true);\n&/
s/^        first = purged || to == page ? put_part.*/        first = to;/
