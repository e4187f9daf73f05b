# core/depot.c: a run that grows looks whether it is the last of the arena before it has the lock.
s/^    bool grown = false;/    const bool last = behind == arena.used_units;\n&/
s/^    if (behind == arena.used_units) {/    if (last) {/
