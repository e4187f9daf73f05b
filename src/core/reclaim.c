#include "core/reclaim.h"

#include "core/depot.h"
#include "core/option.h"
#include "os/os.h"

enum {
    /* One madvise at a time covers at most this much: in larger ranges a page is no cheaper. */
    RANGE_UNITS = (32 << 20) / UNIT_BYTES,
    /* What one slow operation purges of runs that are merely old. */
    TICK_UNITS = (32 << 20) / UNIT_BYTES,
    RETAIN_SHIFT = 4, /* the budget is at least this fraction of what is in use */
};

struct reclaim_counters reclaim_counters;

static struct lock purge_lock = LOCK_INIT(RANK_PURGE);

/* Dirty units that may wait for reuse: the option, or a share of what is in use when that is more. */
static size_t retain_units(void)
{
    return max_size(option_get(OPTION_RETAIN_BYTES) >> UNIT_SHIFT, stat_get(&depot.used_units) >> RETAIN_SHIFT);
}

static void purge_run(uint32_t first, uint32_t n)
{
    char *const start = arena_address(first);
    const size_t bytes = (size_t)n << UNIT_SHIFT;
    const size_t page = os_page_bytes();
    char *const from = (char *)round_up((uintptr_t)start, page);
    char *const to = (char *)round_down((uintptr_t)start + bytes, page);
    bool clean = false;
    if (to > from) {
        stat_add(&reclaim_counters.calls, 1);
        const bool purged = os_purge(from, (size_t)(to - from));
        stat_add(&reclaim_counters.bytes, purged ? (size_t)(to - from) : 0);
        stat_add(&reclaim_counters.refused, purged ? 0 : 1);
        clean = purged && from == start && to == start + bytes;
    }
    /* Where the kernel refused, or pages are larger than units, it stays dirty, and young. */
    depot_put(first, n, clean);
}

/* Under the purge lock. */
static size_t purge_while(uint64_t before_ms, size_t dirty_limit, size_t max_units)
{
    size_t purged = 0;
    while (purged < max_units) {
        uint32_t n;
        const uint32_t first = depot_take_oldest(before_ms, dirty_limit, RANGE_UNITS, &n);
        if (first == 0) {
            break;
        }
        purge_run(first, n);
        purged += n;
    }
    return purged;
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
    if (lock_try(&purge_lock)) {
        if (dirty > limit) {
            (void)purge_while(0, limit / 2, dirty);
        }
        (void)purge_while(before_ms, SIZE_MAX, TICK_UNITS);
        lock_release(&purge_lock);
    }
}

size_t reclaim_all(void)
{
    lock_acquire(&purge_lock);
    /* No more than was dirty at the start: others may be freeing all the time. */
    const size_t purged = purge_while(UINT64_MAX, SIZE_MAX, stat_get(&depot.dirty_units));
    lock_release(&purge_lock);
    return purged << UNIT_SHIFT;
}
