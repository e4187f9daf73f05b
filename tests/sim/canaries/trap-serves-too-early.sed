# space/trap.c: a trapped run is in the depot before it may be touched again. Groups: trap
s/^    if (!os_commit(arena_address(first), (size_t)units << UNIT_SHIFT)) {/    depot_put(first, units, true);\n&/
/^static bool trap_open/,/^}/s/^    trap_hand_over(first, units, .*/    (void)purged;/
