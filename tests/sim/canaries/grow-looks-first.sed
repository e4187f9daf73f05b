# space/depot.c: a run that grows looks at what is behind it before it has the lock.
/^bool depot_grow/,/^}/{
s/^    depot_lock();/    const uint32_t run = run_to_grow(behind, more);\n&/
/^    const uint32_t run = limit_has_room(more) ? run_to_grow(behind, more) : 0;$/d
}
