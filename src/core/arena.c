#include "core/arena.h"

#include "core/guard.h"
#include "os/os.h"

#include <string.h>

enum {
    STEP_UNITS_MIN = (4 << 20) / UNIT_BYTES,
    STEP_UNITS_MAX = (1 << 30) / UNIT_BYTES,
    STEP_SHIFT = 3, /* a step is an eighth of what is committed */
    RESERVED_UNITS_MIN = 64,
    /* Room between the tables, so that each starts at a page whatever the page size, and in the checked library for
     * pages before, between and after them that are never accessible. */
    TABLES_SLACK = GUARDED ? 1 << 20 : 1 << 19,
};

struct arena arena;

static size_t codes_bytes(size_t units)
{
    return units * (UNIT_BYTES / GRANULE_BYTES);
}

static size_t live_bytes(size_t units)
{
    return TSLAB_CHECKED ? units * (UNIT_BYTES / GRANULE_BYTES / 8) : 0;
}

static size_t reservation_bytes(size_t units)
{
    return units * (UNIT_BYTES + sizeof(struct unit) + sizeof(struct slab) + sizeof(struct revisit)) +
           codes_bytes(units) + live_bytes(units) + TABLES_SLACK;
}

/* Where the table after one that ends at `at` starts. */
static uintptr_t next_table(uintptr_t at, size_t align)
{
    return round_up(at, align) + (GUARDED ? align : 0);
}

bool arena_start(size_t bytes)
{
    const size_t limit = os_address_space_limit();
    size_t units = bytes / UNIT_BYTES;
    while (limit != SIZE_MAX && units > 0 && reservation_bytes(units) > limit / 2) {
        units -= units / 8 + 1;
    }
    void *start = NULL;
    for (; units >= RESERVED_UNITS_MIN; units /= 2) {
        start = os_reserve(reservation_bytes(units));
        if (start != NULL) {
            break;
        }
    }
    if (start == NULL) {
        return false;
    }
    /* The tables lie below the units: no overflow of an object runs into them. */
    const size_t align = max_size(os_page_bytes(), UNIT_BYTES);
    uintptr_t at = next_table((uintptr_t)start, align);
    arena.reservation = start;
    arena.reservation_bytes = reservation_bytes(units);
    arena.units = (struct unit *)at;
    at = next_table(at + units * sizeof(struct unit), align);
    arena.slabs = (struct slab *)at;
    at = next_table(at + units * sizeof(struct slab), align);
    arena.revisits = (struct revisit *)at;
    at = next_table(at + units * sizeof(struct revisit), align);
    arena.codes = (atomic_u8 *)at;
    at = next_table(at + codes_bytes(units), align);
#if TSLAB_CHECKED
    arena.live = (atomic_u64 *)at;
    at = next_table(at + live_bytes(units), align);
#endif
    at += align - UNIT_BYTES; /* unit 1, the first that is handed out, starts a page, whatever its size */
    arena.base = at;
    arena.codes_of_zero = (atomic_u8 *)((uintptr_t)arena.codes - (at >> GRANULE_SHIFT));
    arena.used_units = 1;
    arena.reserved_units = units;
    if (GUARDED) {
        guard_start();
    }
    return true;
}

/* Commits the part of a table that goes from its byte `from` to its byte `to`, in whole pages. */
static bool commit_part(void *table, size_t from, size_t to)
{
    const size_t page = os_page_bytes();
    const uintptr_t start = round_up((uintptr_t)table + from, page);
    const uintptr_t end = round_up((uintptr_t)table + to, page);
    return end <= start || os_commit((void *)start, end - start);
}

static bool commit_units(size_t from, size_t to)
{
    /* Unit 0, which is never used, is a guard. */
    const size_t accessible = max_size(from, GUARDED ? 1 : 0);
    /* The units come last: who sees them committed finds their tables. What was committed before a failure stays so and
     * is committed again, for nothing, by the next attempt. */
    return commit_part(arena.units, from * sizeof(struct unit), to * sizeof(struct unit)) &&
           commit_part(arena.slabs, from * sizeof(struct slab), to * sizeof(struct slab)) &&
           commit_part(arena.revisits, from * sizeof(struct revisit), to * sizeof(struct revisit)) &&
           commit_part(arena.codes, codes_bytes(from), codes_bytes(to)) &&
#if TSLAB_CHECKED
           commit_part(arena.live, live_bytes(from), live_bytes(to)) &&
#endif
           commit_part((void *)arena.base, accessible << UNIT_SHIFT, to << UNIT_SHIFT);
}

/* Makes the units below `end` accessible. */
static bool arena_commit(size_t end)
{
    const size_t committed = stat_get(&arena.committed_units);
    if (end <= committed) {
        return true;
    }
    size_t step = committed >> STEP_SHIFT;
    step = step < STEP_UNITS_MIN ? STEP_UNITS_MIN : min_size(step, STEP_UNITS_MAX);
    size_t target = min_size(max_size(end, committed + step), arena.reserved_units);
    /* When memory is short, what is asked for may still fit where the step does not. */
    if (!commit_units(committed, target)) {
        target = end;
        if (!commit_units(committed, target)) {
            return false;
        }
    }
    store_release(&arena.committed_units, target);
    return true;
}

uint32_t arena_extend(size_t n, size_t align, uint32_t *gap)
{
    const size_t first_address = round_up((size_t)arena_address((uint32_t)arena.used_units), align << UNIT_SHIFT);
    const size_t first = (first_address - arena.base) >> UNIT_SHIFT;
    if (first >= arena.reserved_units || n > arena.reserved_units - first || !arena_commit(first + n)) {
        return 0;
    }
    *gap = (uint32_t)(first - arena.used_units);
    arena.used_units = first + n;
    return (uint32_t)first;
}
