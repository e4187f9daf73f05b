/* How a test begins, before the first allocation of its process. */
#ifndef ENGINE_H
#define ENGINE_H

#include "check.h"

#include "core/arena.h"
#include "core/depot.h"
#include "core/option.h"

/* Has the engine live in an arena of so many bytes, whether or not it has reserved another one already. */
static inline void live_in_arena_of(size_t bytes)
{
    CHECK(stat_get(&depot.used_units) == 0 && stat_get(&depot.clean_units) == 0);
    option_values[OPTION_ARENA_BYTES] = bytes;
    if (arena.reserved_units != 0) {
        CHECK(arena_start(bytes));
    }
    CHECK(arena.reserved_units == 0 || arena.reserved_units == bytes / UNIT_BYTES);
}

#endif
