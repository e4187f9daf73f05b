#include "core/trap.h"

#include "core/depot.h"
#include "core/reclaim.h"
#include "os/os.h"

/* Of all addresses one part of so many is trapped at most. */
enum { TRAP_PART = 8 };

/* A ring; under the lock. */
static struct {
    struct lock lock;
    uint32_t next, oldest; /* modulo TRAP_RUNS; as many are in it as they differ */
    struct {
        uint32_t first, units;
    } runs[TRAP_RUNS];
} trapped = { .lock = LOCK_INIT(RANK_TRAP) };

atomic_size_t trap_units;

/* Takes the oldest run out of the ring: it is empty memory again. False when the kernel has no memory for that: it
 * stays trapped. Under the lock. */
static bool evict(void)
{
    const uint32_t place = trapped.oldest % TRAP_RUNS;
    const uint32_t first = trapped.runs[place].first;
    const uint32_t units = trapped.runs[place].units;
    if (!os_commit(arena_address(first), (size_t)units << UNIT_SHIFT)) {
        return false;
    }
    trapped.oldest++;
    (void)fetch_sub_relaxed(&trap_units, units);
    depot_put(first, units, true);
    return true;
}

/* Makes room in the ring for a run of so many units; false: there is none. Under the lock. */
static bool ring_make_room(uint32_t units)
{
    for (;;) {
        const uint32_t count = trapped.next - trapped.oldest;
        const size_t sum = stat_get(&trap_units) + units;
        if (count < TRAP_RUNS && (count == 0 || sum <= arena.reserved_units / TRAP_PART)) {
            return true;
        }
        if (!evict()) {
            return false;
        }
    }
}

/* False: all of it is accessible. The kernel may refuse after it has forbidden a part, and may refuse to take that
 * back: memory that might fault is not for use. */
static bool forbid(char *start, size_t bytes)
{
    return os_forbid(start, bytes) || !os_commit(start, bytes);
}

/* A run of the checked library that is not trapped loses its guard page, if it can have one (large.c), and its
 * contents. False when the kernel has no memory for that: it stays as it is. */
static bool open_up(char *start, size_t bytes, bool purged)
{
    const bool open = os_page_bytes() > UNIT_BYTES || os_commit(start, bytes);
    if (open && !purged) {
        guard_wipe(start, bytes);
    }
    return open;
}

void trap_run(uint32_t first, uint32_t units)
{
    char *const start = arena_address(first);
    const size_t bytes = (size_t)units << UNIT_SHIFT;
    /* Pages larger than a unit may be shared with neighbours. */
    const bool whole = (uintptr_t)start % os_page_bytes() == 0 && bytes % os_page_bytes() == 0;
    bool traps = whole && reclaim_pages(start, bytes);
    const bool purged = traps;
    if (traps) {
        lock_acquire(&trapped.lock);
        traps = ring_make_room(units) && forbid(start, bytes);
        if (traps) {
            (void)fetch_add_relaxed(&trap_units, units);
            const uint32_t place = trapped.next++ % TRAP_RUNS;
            trapped.runs[place].first = first;
            trapped.runs[place].units = units;
        }
        lock_release(&trapped.lock);
    }
    if (!traps && (!GUARDED || open_up(start, bytes, purged))) {
        depot_put(first, units, purged);
    }
}
