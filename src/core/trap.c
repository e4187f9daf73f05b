#include "core/trap.h"

#include "core/depot.h"
#include "core/reclaim.h"
#include "os/os.h"

#include <string.h>

/* Of the arena as it is one part of so many is trapped at most, or so many units where that is more: as many chunks
 * as there may be runs. */
enum { TRAP_PART = 8, TRAP_UNITS_MIN = TRAP_RUNS * 4 };

/* The runs, linked through their descriptors; under the lock. */
static struct {
    struct lock lock;
    uint32_t oldest, newest, count;
} trapped = { .lock = LOCK_INIT(RANK_TRAP) };

atomic_size_t trap_units;

static atomic_u32 guards;

/* uncounted: only the checked libraries call it */
bool guard_count_up(void)
{
    const bool room = fetch_add_relaxed(&guards, 1) < GUARDS_MOST;
    if (!room) {
        (void)fetch_sub_relaxed(&guards, 1);
    }
    return room;
}

/* uncounted: in other libraries no run has a guard */
void guard_count_down(uint32_t first)
{
    if (arena.runs[first].is_guarded) {
        arena.runs[first].is_guarded = false;
        (void)fetch_sub_relaxed(&guards, 1);
    }
}

static void trap_append(uint32_t first, uint32_t units, bool purged)
{
    struct run *const run = &arena.runs[first];
    run->next = 0;
    run->units = units;
    run->unpurged_bytes = purged ? 0 : (size_t)units << UNIT_SHIFT;
    *(trapped.count == 0 ? &trapped.oldest : &arena.runs[trapped.newest].next) = first;
    trapped.newest = first;
    trapped.count++;
    (void)fetch_add_relaxed(&trap_units, units);
}

/* An accessible run goes to the depot. */
static void trap_hand_over(uint32_t first, uint32_t units, bool purged)
{
    if (GUARDED && !purged) {
        memset(arena_address(first), 0, (size_t)units << UNIT_SHIFT);
    }
    depot_put(first, units, purged);
}

/* The run that is trapped longest is empty memory again. False when the kernel has no memory for that: it stays
 * trapped. Under the lock. */
static bool trap_evict(void)
{
    const uint32_t first = trapped.oldest;
    const uint32_t next = arena.runs[first].next;
    const uint32_t units = arena.runs[first].units;
    const bool purged = arena.runs[first].unpurged_bytes == 0;
    if (!os_commit(arena_address(first), (size_t)units << UNIT_SHIFT)) {
        return false;
    }
    trapped.oldest = next;
    trapped.count--;
    (void)fetch_sub_relaxed(&trap_units, units);
    trap_hand_over(first, units, purged);
    return true;
}

/* Makes room for a run of so many units. False: the kernel has no memory for that. Under the lock. */
static bool trap_make_room(uint32_t units)
{
    const size_t most = min_size(arena.span_units / TRAP_PART,
                                 max_size(load_plain(&arena.committed_units) / TRAP_PART, TRAP_UNITS_MIN));
    while (trapped.count >= TRAP_RUNS || (trapped.count > 0 && counter_get(&trap_units) + units > most)) {
        if (!trap_evict()) {
            return false;
        }
    }
    return true;
}

/* False: all of it is accessible. The kernel may refuse after it has forbidden a part, and may refuse to take that
 * back: memory that might fault is not for use. */
static bool trap_forbid(char *start, size_t bytes)
{
    return os_forbid(start, bytes) || !os_commit(start, bytes);
}

/* The guard page of a large run (large.c) goes with the rest of a run that is not trapped. False: it stays, and the run
 * waits among the trapped until the kernel has memory again. */
static bool open_up(char *start, size_t bytes)
{
    return !GUARDED || os_page_bytes() > UNIT_BYTES || os_commit(start, bytes);
}

void trap_run(uint32_t first, uint32_t units)
{
    char *const start = arena_address(first);
    const size_t bytes = (size_t)units << UNIT_SHIFT;
    guard_count_down(first);
    /* Pages larger than a unit may be shared with neighbours. */
    const bool whole = (uintptr_t)start % os_page_bytes() == 0 && bytes % os_page_bytes() == 0;
    const bool purged = whole && reclaim_pages(start, bytes);
    lock_acquire(&trapped.lock);
    const bool traps = (purged && trap_make_room(units) && trap_forbid(start, bytes)) || !open_up(start, bytes);
    if (traps) {
        trap_append(first, units, purged);
    }
    lock_release(&trapped.lock);
    if (!traps) {
        trap_hand_over(first, units, purged);
    }
}
