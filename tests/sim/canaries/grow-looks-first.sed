# space/depot.c: a run that grows looks at what is behind it before it has the lock. Groups: large
s/ || row_behind(behind, more) < more//
/^bool depot_grow/,/^}/{
s/^    depot_lock();/    const bool fits = row_behind(first + n, more) >= more;\n&/
s/grow_into_row(/fits \&\& &/
}
