/* How a test begins, before the first allocation of its process. */
#ifndef ENGINE_H
#define ENGINE_H

#include "check.h"

#include "common/option.h"
#include "space/arena.h"
#include "space/depot.h"

#include <fcntl.h>
#include <unistd.h>

/* Has the engine live in an arena of so many bytes, whether or not it has another one already. */
static inline void live_in_arena_of(size_t bytes)
{
    CHECK(counter_get(&depot.units[RUN_USED]) == 0 && counter_get(&depot.units[RUN_CLEAN]) == 0);
    option_values[OPTION_ARENA_BYTES] = bytes;
    if (arena.span_units != 0) {
        CHECK(arena_start(bytes));
    }
    const uint32_t units = arena_page_down((uint32_t)(bytes / UNIT_BYTES));
    /* Where the kernel chooses the place, a large arena is cut. */
    CHECK(arena.span_units == 0 || arena.span_units == units || (bytes > TIB / 4 && arena.span_units < units));
}

/* The mappings of this process. */
static inline size_t count_mappings(void)
{
    char text[4096];
    size_t lines = 0;
    ssize_t n;
    const int descriptor = open("/proc/self/maps", O_RDONLY);
    CHECK(descriptor >= 0);
    while ((n = read(descriptor, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            lines += text[i] == '\n';
        }
    }
    close(descriptor);
    return lines;
}

#endif
