/* A queue of runs, linked through their descriptors. A new one is forbidden before it enters the queue, and the oldest
 * is made accessible before it leaves. */
#include "space/trap.h"

#include "os/fatal.h"
#include "os/os.h"
#include "space/depot.h"
#include "space/reclaim.h"

#include <string.h>

/* At most 1/TRAP_PART of the arena's present units is trapped, or TRAP_UNITS_MIN units where that is more: one chunk
 * for each run that may be trapped. */
enum { TRAP_PART = 8, TRAP_UNITS_MIN = TRAP_RUNS * 4 };

/* The trapped runs, linked by next of their descriptors. Under the lock. */
static struct {
    struct lock lock;
    uint32_t oldest, newest, count;
} trapped_runs = { .lock = LOCK_INIT(RANK_TRAP) };

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

/* Counts runs that are trapped, about to be, or about to be so no more. Under the lock. */
static void trap_count(int runs, uint32_t units)
{
    invariant(runs == 1 || (runs == -1 && trapped_runs.count != 0));
    trapped_runs.count += (uint32_t)runs;
    (void)fetch_add_relaxed(&trap_units, runs == 1 ? units : -(size_t)units);
}

/* Puts an accessible run into the depot. */
static void trap_hand_over(uint32_t first, uint32_t units, bool purged)
{
    if (GUARDED && !purged) {
        memset(arena_address(first), 0, (size_t)units << UNIT_SHIFT);
    }
    depot_put(first, units, purged);
}

/* Whether there is room for one more run of this many units. Under the lock. */
static bool trap_has_room(uint32_t units)
{
    const size_t most = min_size(arena.span_units / TRAP_PART,
                                 max_size(load_plain(&arena.committed_units) / TRAP_PART, TRAP_UNITS_MIN));
    return trapped_runs.count < TRAP_RUNS && counter_get(&trap_units) + units <= most;
}

/* Makes a run that left the queue empty memory again. False when the kernel has no memory for that. */
static bool trap_open(uint32_t first)
{
    const uint32_t units = arena.runs[first].units;
    const bool purged = arena.runs[first].unpurged_bytes == 0;
    invariant(arena.runs[first].kind == RUN_USED && load_plain(&arena.units[first].tag) == TAG_NONE);
    if (!os_commit(arena_address(first), (size_t)units << UNIT_SHIFT)) {
        return false;
    }
    trap_hand_over(first, units, purged);
    return true;
}

/* Makes room for a run of this many units, and counts it. A run may be longer than all others together may be, and
 * other threads may have these in hand. Then it has the trap for itself. False: the kernel has no memory for the oldest
 * run. Lets go of the lock while the system works. */
static bool trap_make_room(uint32_t units)
{
    uint32_t first;
    bool opened = true;
    invariant(lock_is_held(&trapped_runs.lock));
    while (opened && !trap_has_room(units) && (first = trapped_runs.oldest) != 0) {
        const uint32_t left = arena.runs[first].units;
        trapped_runs.oldest = arena.runs[first].next;
        lock_release(&trapped_runs.lock);
        opened = trap_open(first);
        lock_acquire(&trapped_runs.lock);
        if (opened) {
            trap_count(-1, left);
        } else { /* it stays the oldest */
            trapped_runs.newest = trapped_runs.oldest == 0 ? first : trapped_runs.newest;
            arena.runs[first].next = trapped_runs.oldest;
            trapped_runs.oldest = first;
        }
    }
    if (opened) {
        trap_count(1, units);
    }
    return opened;
}

/* Takes the access to a run away. False: all of it is accessible. The kernel may refuse after it has forbidden a part.
 * If it then refuses to open that part again, the run counts as forbidden, because its memory might fault. */
static bool trap_forbid(char *start, size_t bytes)
{
    return os_forbid(start, bytes) || !os_commit(start, bytes);
}

/* Opens the guard page of a large run (large.c) that is not to be trapped. False: the guard stays, and the run
 * waits among the trapped ones until the kernel has memory again. */
static bool open_up(char *start, size_t bytes)
{
    return !GUARDED || os_page_bytes() > UNIT_BYTES || os_commit(start, bytes);
}

void trap_run(uint32_t first, uint32_t units)
{
    char *const start = arena_address(first);
    const size_t bytes = (size_t)units << UNIT_SHIFT;
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == units);
    invariant(load_plain(&arena.units[first].tag) == TAG_NONE);
    invariant(load_plain(&arena.units[first + units - 1].tag) == TAG_NONE);
    guard_count_down(first);
    /* Pages larger than a unit may be shared with neighbours. */
    const bool whole = (uintptr_t)start % os_page_bytes() == 0 && bytes % os_page_bytes() == 0;
    const bool purged = whole && reclaim_pages(start, bytes);
    bool has_room = false;
    if (purged) {
        lock_acquire(&trapped_runs.lock);
        has_room = trap_make_room(units);
        lock_release(&trapped_runs.lock);
    }
    const bool traps = (has_room && trap_forbid(start, bytes)) || !open_up(start, bytes);
    lock_acquire(&trapped_runs.lock);
    if (traps != has_room) {
        trap_count(traps ? 1 : -1, units);
    }
    if (traps) {
        arena.runs[first].next = 0;
        owned_store(&arena.runs[first].unpurged_bytes, purged ? 0 : bytes);
        *(trapped_runs.oldest == 0 ? &trapped_runs.oldest : &arena.runs[trapped_runs.newest].next) = first;
        trapped_runs.newest = first;
    }
    lock_release(&trapped_runs.lock);
    if (!traps) {
        trap_hand_over(first, units, purged);
    }
}
