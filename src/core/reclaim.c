#include "core/reclaim.h"

#include "core/depot.h"
#include "core/option.h"
#include "os/os.h"

enum {
    /* One madvise at a time covers at most this much: in larger ranges a page is no cheaper. */
    RANGE_UNITS = (32 << 20) / UNIT_BYTES,
    /* What one slow operation purges of runs that are merely old. */
    TICK_UNITS = (32 << 20) / UNIT_BYTES,
    /* Shorter runs are not worth the calls for their part of the side tables. */
    TABLES_UNITS = (1 << 20) / UNIT_BYTES,
    SWEEP_UNITS = (8 << 20) / UNIT_BYTES,     /* so much purged is worth a look for them, */
    SWEEP_RUNS = 64,                          /* of at most so many runs */
    LEARNED_UNITS = (128 << 20) / UNIT_BYTES, /* the budget is never more than this for what was learned */
    RETAIN_SHIFT = 5,                         /* the budget is at least this fraction of what is in use */
};

struct reclaim_counters reclaim_counters;

/* What the purger knows; under the lock, but for the budget, which anyone reads. */
static struct {
    struct lock lock;
    atomic_size_t budget_units; /* learned: what programs wanted back soon after it was purged */
    size_t unswept_units;       /* purged since the side tables were swept */
    size_t purged_units;        /* for the sake of the budget, and not wanted back so far */
    uint64_t purged_ms;         /* when that was last done */
    uint64_t fresh_units;       /* what the depot had handed out without pages by then */
} purger = { .lock = LOCK_INIT(RANK_PURGE) };

/* Dirty units that may wait for reuse: the option, what was learned, or a share of what is in use, whichever is most.
 */
static size_t retain_units(void)
{
    const size_t learned = max_size(option_get(OPTION_RETAIN_BYTES) >> UNIT_SHIFT, stat_get(&purger.budget_units));
    return max_size(learned, stat_get(&depot.used_units) >> RETAIN_SHIFT);
}

/* A program that fills and empties its memory again and again should fault its pages in once, and one that is done
 * should lose them at once. So the budget grows by what was purged and wanted again within the delay, and halves for
 * each delay in which nothing had to be purged for its sake. Under the lock. */
static void learn(uint64_t now_ms, uint64_t delay_ms)
{
    const uint64_t age_ms = now_ms - purger.purged_ms;
    const uint64_t wanted = stat_get(&depot.fresh_units) - purger.fresh_units;
    size_t budget = stat_get(&purger.budget_units);
    if (age_ms <= delay_ms) {
        const size_t mistaken = min_size(purger.purged_units, wanted);
        budget += mistaken;
        purger.purged_units -= mistaken;
    } else {
        budget >>= min_size(age_ms / max_size(delay_ms, 1), 63);
        purger.purged_units = 0;
    }
    stat_set(&purger.budget_units, min_size(budget, LEARNED_UNITS));
    purger.purged_ms = now_ms;
    purger.fresh_units = stat_get(&depot.fresh_units);
}

size_t reclaim_learned_bytes(void)
{
    return stat_get(&purger.budget_units) << UNIT_SHIFT;
}

bool reclaim_pages(char *start, size_t bytes)
{
    const bool purged = os_purge(start, bytes);
    (void)fetch_add_relaxed(&reclaim_counters.calls, 1);
    (void)fetch_add_relaxed(purged ? &reclaim_counters.bytes : &reclaim_counters.refused, purged ? bytes : 1);
    return purged;
}

static void purge_table(void *table, size_t from, size_t to)
{
    const size_t page = os_page_bytes();
    const uintptr_t start = round_up((uintptr_t)table + from, page);
    const uintptr_t end = round_down((uintptr_t)table + to, page);
    if (end > start) {
        (void)os_purge((void *)start, end - start);
    }
}

/* What the side tables say of a long empty run is 0, or nothing: pages full of that have done their work too. So the
 * longest clean runs lose them, each time that much was purged. Not counted. Under the lock. */
static void sweep_tables(size_t purged_units)
{
    purger.unswept_units += purged_units;
    if (purger.unswept_units < SWEEP_UNITS) {
        return;
    }
    purger.unswept_units = 0;
    const size_t codes = UNIT_BYTES / GRANULE_BYTES;
    for (unsigned i = 0; i < SWEEP_RUNS; i++) {
        uint32_t n;
        const uint32_t first = depot_take_unswept(TABLES_UNITS, &n);
        if (first == 0) {
            return;
        }
        purge_table(arena.codes, first * codes, (first + n) * codes);
        purge_table(arena.slabs, (first + 1) * sizeof *arena.slabs, (first + n) * sizeof *arena.slabs);
        depot_put_swept(first, n);
    }
}

/* Purges a run that was taken out of the depot and puts it back. Returns the bytes given to the system. */
static size_t purge_run(uint32_t first, uint32_t n)
{
    char *const start = arena_address(first);
    const size_t bytes = (size_t)n << UNIT_SHIFT;
    const size_t page = os_page_bytes();
    char *const from = (char *)round_up((uintptr_t)start, page);
    char *const to = (char *)round_down((uintptr_t)start + bytes, page);
    const bool purged = to > from && reclaim_pages(from, (size_t)(to - from));
    /* Where the kernel refused, or the run has no whole page, it stays dirty, and young. */
    depot_put_purged(first, n, purged);
    return purged ? (size_t)(to - from) : 0;
}

/* Purges, oldest first, at most max_units. Returns the bytes given to the system. Under the lock. */
static size_t purge_while(uint64_t before_ms, size_t dirty_limit, size_t max_units)
{
    size_t bytes = 0;
    for (size_t units = 0; units < max_units;) {
        uint32_t n;
        const uint32_t first = depot_take_oldest(before_ms, dirty_limit, RANGE_UNITS, &n);
        if (first == 0) {
            break;
        }
        bytes += purge_run(first, n);
        units += n;
    }
    sweep_tables(bytes >> UNIT_SHIFT);
    return bytes;
}

bool reclaim_is_over_budget(void)
{
    return stat_get(&depot.dirty_units) > retain_units();
}

void reclaim_tick(void)
{
    const size_t dirty = stat_get(&depot.dirty_units);
    if (dirty == 0) {
        return;
    }
    const size_t limit = retain_units();
    const uint64_t now_ms = os_now_ms();
    const uint64_t delay_ms = option_get(OPTION_PURGE_DELAY_MS);
    const uint64_t before_ms = now_ms > delay_ms ? now_ms - delay_ms : 0;
    if (dirty <= limit && stat_get(&depot.oldest_ms) >= before_ms) {
        return;
    }
    if (lock_try(&purger.lock)) {
        if (dirty > limit) {
            learn(now_ms, delay_ms);
            if (dirty > retain_units()) {
                purger.purged_units += purge_while(0, retain_units() / 2, dirty) >> UNIT_SHIFT;
            }
        }
        (void)purge_while(before_ms, SIZE_MAX, TICK_UNITS);
        lock_release(&purger.lock);
    }
}

size_t reclaim_all(void)
{
    lock_acquire(&purger.lock);
    /* No more than was dirty at the start: others may be freeing all the time. */
    const size_t purged = purge_while(UINT64_MAX, SIZE_MAX, stat_get(&depot.dirty_units));
    lock_release(&purger.lock);
    return purged;
}
