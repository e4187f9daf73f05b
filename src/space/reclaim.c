/* One purger at a time works under the purger's lock. */
#include "space/reclaim.h"

#include "common/option.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/pages.h"

enum {
    /* The longest range of one madvise. In longer ranges a page is no cheaper. */
    RANGE_UNITS = (32 << 20) / UNIT_BYTES,
    STEP_UNITS = (1 << 20) / UNIT_BYTES,   /* what an operation and a call purge at least, where there is so much */
    CALL_UNITS = 4,                        /* a call of madvise counts as at least this many */
    TABLES_UNITS = (8 << 20) / UNIT_BYTES, /* purged units after which the purger looks for long clean runs */
    TABLES_RUNS = 64,                      /* runs that one such look takes at most */
    RUN_CALLS = 24,    /* calls of madvise for a run that the system refuses: 12 find a page in 32 MiB */
    BESIDES_SHIFT = 5, /* this fraction of the memory in use may wait in any case */
    MISSED_SHIFT = 3,  /* missed memory may wait, up to this fraction of the memory in use */
    /* Without a keeper. This fraction of the memory in use may wait. Memory that was freed and allocated again lately
     * may wait up to the largest of REUSE_UNITS, the memory in use, and this fraction of the sum of such reuse. */
    NO_KEEPER_SHIFT = 2,
    REUSE_UNITS = (64 << 20) / UNIT_BYTES,
    REUSE_SUM_SHIFT = 3,
};

struct reclaim_counters reclaim_counters;

/* The state of the purger. It is written under the lock. Any thread may read the atomic fields. */
static struct {
    struct lock lock;
    size_t units_since_tables;    /* units purged since the side tables were looked at */
    atomic_u64 paid_units;        /* units that became empty, and fresh ones, at the end of the last operation */
    atomic_u64 checked_ms;        /* time of the last check */
    atomic_u64 resumed_ms;        /* time of the last check that came after a pause, */
    atomic_u64 resumed_before_ms; /* and of the one before */
    atomic_u64 paused_until_ms;   /* end of the pause after a refusal; 0: the system has not refused */
} purger = { .lock = LOCK_INIT(RANK_PURGE) };

/* Without a keeper the bound is the largest of: memory that was freed and allocated again lately, a quarter of what is
 * in use, and a huge page. */
static size_t units_without_keeper(size_t used)
{
    const size_t reuse_sum = load_plain(&depot.use.reuse_sum) >> REUSE_SUM_SHIFT;
    const size_t reuse = min_size(load_plain(&depot.use.reuse), max_size(max_size(REUSE_UNITS, used), reuse_sum));
    return max_size(max_size(HUGE_UNITS, used >> NO_KEEPER_SHIFT), reuse);
}

/* The dirty units that may wait for reuse: used and waiting units together are at most the recent peak plus the largest
 * of the option, a share of those in use, and those missed lately. The last is for programs whose large blocks have
 * many lengths: they always have empty runs that no request fits, and without more the purger takes the runs that they
 * want next. A huge page counts as used when it is taken. */
size_t reclaim_waiting_units(void)
{
    const size_t most = limit_presses() ? 0 : option_get(OPTION_RETAIN_LIMIT_BYTES) >> UNIT_SHIFT;
    const size_t used = depot_in_use(), noted = load_plain(&depot_usage.noted_units);
    const size_t peak = load_plain(&depot.use.below_peak) + noted, below = peak > used ? peak - used : 0;
    const size_t missed = min_size(load_plain(&depot.use.missed), used >> MISSED_SHIFT);
    const size_t share = max_size(used >> BESIDES_SHIFT, missed);
    const size_t besides = max_size(option_get(OPTION_RETAIN_BYTES) >> UNIT_SHIFT, share);
    const bool is_kept = load_plain(&reclaim_is_kept) != 0;
    switch ((enum purge_policy)option_choice(OPTION_PURGE)) {
    case PURGE_EAGER:
        return 0;
    case PURGE_NEVER:
        return most;
    default:
        return min_size((is_kept ? below : min_size(below, units_without_keeper(used))) + besides, most);
    }
}

bool reclaim_pages(char *start, size_t bytes)
{
    invariant(bytes != 0 && bytes % os_page_bytes() == 0 && (uintptr_t)start % os_page_bytes() == 0);
    trace_purge_begin(start, bytes);
    const bool purged = os_purge(start, bytes);
    trace_purge_end(start, bytes, purged);
    if (purged) {
        pages_set(start, start + bytes, false);
    }
    (void)fetch_add_relaxed(&reclaim_counters.calls, 1);
    (void)fetch_add_relaxed(purged ? &reclaim_counters.bytes : &reclaim_counters.refused, purged ? bytes : 1);
    return purged;
}

/* The side tables' entries about the inside of a long empty run are 0 or mean nothing, so their pages can go. Each time
 * that enough was purged, long clean runs lose those pages. Under the lock. */
static void purge_tables(size_t purged_units, bool all)
{
    invariant(lock_is_held(&purger.lock));
    purger.units_since_tables += purged_units;
    if (!all && purger.units_since_tables < TABLES_UNITS) {
        return;
    }
    purger.units_since_tables = 0;
    uint32_t n, first;
    for (unsigned i = 0; (all || i < TABLES_RUNS) && (first = depot_take_with_tables(&n)) != 0; i++) {
        invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n && n >= RUN_TABLES_UNITS_MIN);
        arena_purge_tables(first, n);
        depot_put_without_tables(first, n);
    }
}

static bool purge_units(uint32_t first, uint32_t end)
{
    invariant(first < end && first == arena_page_up(first) && end == arena_page_up(end));
    return reclaim_pages(arena_address(first), (size_t)(end - first) << UNIT_SHIFT);
}

/* Puts back the first units of a run that was taken out. Returns the first of the others. */
static uint32_t put_part(uint32_t first, uint32_t n, uint32_t part, bool purged)
{
    if (part < n) {
        depot_split_taken(first, n, part);
    }
    if (purged) {
        depot_put_purged(first, part);
    } else {
        depot_put_unpurged(first, part);
    }
    return first + part;
}

/* Purges the whole pages of a run that was taken out of the depot, puts it back, and adds the bytes given to the system
 * to *bytes. False: the system has refused some of it, such as a locked page. Then what is beside that goes, in steps
 * that are halved at each refusal down to a page, and double where the system takes one. A page that it refuses, and
 * what is left after RUN_CALLS, stay as they were. */
static bool purge_run(uint32_t first, uint32_t n, size_t *bytes)
{
    const uint32_t end = first + n, last = arena_page_down(end);
    bool granted = true;
    uint32_t step = n;
    invariant(lock_is_held(&purger.lock) && counter_get(&depot.purging_units) >= n);
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    for (unsigned calls = 0; first < end; calls++) {
        const uint32_t from = arena_page_up(first), page = arena_page_up(from + 1);
        if (page > last || calls == RUN_CALLS) {
            (void)put_part(first, end - first, end - first, false);
            break;
        }
        const uint32_t to = (uint32_t)max_size(page, arena_page_down((uint32_t)min_size(from + step, last)));
        const bool purged = purge_units(from, to);
        granted &= purged;
        step = purged ? 2 * (to - from) : (to - from) / 2;
        *bytes += purged ? (size_t)(to - from) << UNIT_SHIFT : 0;
        first = purged || to == page ? put_part(first, end - first, to - first, purged) : first;
    }
    return granted;
}

/* A system that refused is likely to refuse again: locked memory stays locked, and a sandbox stays closed. So purging
 * pauses after each refusal. */
void reclaim_pause(void)
{
    store_plain(&purger.paused_until_ms, os_now_ms() + max_size(option_get(OPTION_PURGE_DELAY_MS), 1));
}

static bool is_paused(uint64_t now_ms)
{
    const uint64_t until_ms = load_plain(&purger.paused_until_ms);
    return unlikely(until_ms != 0) && now_ms < until_ms;
}

/* The most units that the next call may purge. Where it is not for the age of the runs, these are the units above the
 * limit, or STEP_UNITS. */
static uint32_t range_units(uint64_t before_ms, size_t dirty_limit, size_t most)
{
    const size_t dirty = counter_get(&depot.units[RUN_DIRTY]);
    const size_t over = before_ms == 0 && dirty > dirty_limit ? dirty - dirty_limit : RANGE_UNITS;
    return (uint32_t)min_size(max_size(over, STEP_UNITS), min_size(most, RANGE_UNITS));
}

/* Purges dirty runs, oldest first, until max_units are reached. A short run counts as CALL_UNITS. Stops at the first
 * refusal unless it insists. Returns the bytes given to the system. Under the lock. */
static size_t purge_while(uint64_t before_ms, size_t dirty_limit, size_t max_units, bool insists)
{
    invariant(lock_is_held(&purger.lock));
    size_t bytes = 0;
    bool granted = true;
    for (size_t units = 0; units < max_units && (granted || insists);) {
        uint32_t n;
        const uint32_t most = range_units(before_ms, dirty_limit, max_units - units);
        const uint32_t first = depot_take_oldest(before_ms, dirty_limit, most, &n);
        if (first == 0) {
            break;
        }
        granted &= purge_run(first, n, &bytes);
        units += max_size(n, CALL_UNITS);
    }
    if (granted) {
        store_plain(&purger.paused_until_ms, 0);
    } else {
        reclaim_pause();
    }
    return bytes;
}

bool reclaim_has_too_much(void)
{
    return counter_get(&depot.units[RUN_DIRTY]) > reclaim_waiting_units() && load_plain(&purger.paused_until_ms) == 0;
}

bool reclaim_is_refused(void)
{
    return load_plain(&purger.paused_until_ms) != 0;
}

/* Runs that became dirty before this time are old. */
static uint64_t old_ms(uint64_t now_ms)
{
    const uint64_t delay_ms = option_get(OPTION_PURGE_DELAY_MS);
    return option_choice(OPTION_PURGE) != PURGE_NEVER && now_ms > delay_ms ? now_ms - delay_ms : 0;
}

bool reclaim_has_old(uint64_t now_ms)
{
    return load_plain(&depot.oldest_ms) < old_ms(now_ms) && load_plain(&purger.paused_until_ms) == 0;
}

/* The same for slow operations. With a keeper, nothing is old for them. Without one, keep what waited through a pause:
 * the program is likely to reuse it. Purge it after another delay, or at once if it was not reused after the previous
 * pause. */
static uint64_t old_for_program_ms(uint64_t now_ms)
{
    const uint64_t delay_ms = option_get(OPTION_PURGE_DELAY_MS);
    if (load_plain(&reclaim_is_kept) != 0) {
        return 0;
    }
    if (now_ms - load_plain(&purger.checked_ms) >= delay_ms) {
        store_plain(&purger.resumed_before_ms, load_plain(&purger.resumed_ms));
        store_plain(&purger.resumed_ms, now_ms);
    }
    store_plain(&purger.checked_ms, now_ms);
    const bool goes_on = now_ms - load_plain(&purger.resumed_ms) < delay_ms;
    return goes_on ? min_size(old_ms(now_ms), load_plain(&purger.resumed_before_ms)) : old_ms(now_ms);
}

/* Purges the units above the limit, then runs that became dirty before a time, `most` units at most. Returns whether
 * any went. Under the lock. */
static bool purge_due(uint64_t now_ms, uint64_t before_ms, size_t most)
{
    size_t bytes = 0;
    invariant(lock_is_held(&purger.lock) && before_ms <= now_ms && most != 0);
    if (counter_get(&depot.units[RUN_DIRTY]) > reclaim_waiting_units()) {
        bytes = purge_while(0, reclaim_waiting_units(), most, false);
    }
    if (before_ms != 0 && bytes >> UNIT_SHIFT < most && !is_paused(now_ms)) {
        bytes += purge_while(before_ms, SIZE_MAX, most - (bytes >> UNIT_SHIFT), false);
    }
    purge_tables(bytes >> UNIT_SHIFT, false);
    return bytes != 0;
}

atomic_u32 reclaim_waits;
atomic_u32 reclaim_is_kept;

noinline void reclaim_wake(void)
{
    const uint32_t waits = swap_seq_cst(&reclaim_waits, 0);
    invariant(waits <= RECLAIM_SLEEPS);
    if (waits == RECLAIM_SLEEPS) {
        os_futex_wake_one(&reclaim_waits);
    }
}

static bool purge_if_needed(uint64_t now_ms, uint64_t before_ms, size_t most)
{
    const size_t dirty = counter_get(&depot.units[RUN_DIRTY]);
    const uint64_t paused_until_ms = load_plain(&purger.paused_until_ms);
    if (paused_until_ms != 0 && now_ms >= paused_until_ms) {
        store_plain(&purger.paused_until_ms, 0);
    }
    if ((dirty <= reclaim_waiting_units() && load_plain(&depot.oldest_ms) >= before_ms) || is_paused(now_ms)) {
        return false;
    }
    bool purged = false;
    if (lock_try(&purger.lock)) {
        purged = purge_due(now_ms, before_ms, most);
        lock_release(&purger.lock);
    }
    return purged;
}

static bool may_need_purge(void)
{
    return counter_get(&depot.units[RUN_DIRTY]) != 0 || load_plain(&purger.paused_until_ms) != 0;
}

/* The most units that the end of an operation purges: a step, or as many as became empty or were taken without pages
 * since the last operation, even if each is a run by itself. So what is too much does not add up. */
static size_t owed_units(void)
{
    const uint64_t now = counter_get(&depot_usage.emptied_units) + counter_get(&depot.fresh_units);
    const uint64_t before = load_plain(&purger.paid_units);
    if (now <= before) {
        return STEP_UNITS;
    }
    invariant(now - before <= SIZE_MAX / CALL_UNITS);
    store_plain(&purger.paid_units, now);
    return max_size(STEP_UNITS, (now - before) * CALL_UNITS);
}

void reclaim_tick(void)
{
    reclaim_call();
    limit_look();
    if (may_need_purge()) {
        const uint64_t now_ms = os_now_ms();
        const size_t most = owed_units();
        (void)purge_if_needed(now_ms, old_for_program_ms(now_ms), most);
    }
}

bool reclaim_due(void)
{
    const uint64_t now_ms = os_now_ms();
    return may_need_purge() && purge_if_needed(now_ms, old_ms(now_ms), RANGE_UNITS);
}

/* Purges all runs that may have pages, but no more than there were at the start: other threads may be freeing all the
 * time. Returns the bytes given to the system. Under the lock. */
static size_t purge_all(void)
{
    return purge_while(UINT64_MAX, SIZE_MAX, counter_get(&depot.units[RUN_DIRTY]) * CALL_UNITS, true);
}

size_t reclaim_all(void)
{
    lock_acquire(&purger.lock);
    const size_t purged = purge_all();
    purge_tables(purged >> UNIT_SHIFT, true);
    lock_release(&purger.lock);
    return purged;
}

/* No run was long enough. There had been `put_backs` before. */
static noinline uint32_t alloc_after_purge(uint32_t n, uint32_t align, uint64_t put_backs, bool *clean)
{
    if (!depot_could_merge(put_backs)) {
        return 0;
    }
    lock_acquire(&purger.lock);
    if (!is_paused(os_now_ms())) {
        (void)purge_all();
    }
    lock_release(&purger.lock);
    return depot_take(n, align, clean);
}

uint32_t run_alloc(uint32_t n, uint32_t align, bool *clean)
{
    const uint64_t put_backs = counter_get(&depot_usage.put_backs);
    invariant(n != 0 && is_power_of_two(align));
    const uint32_t first = depot_take(n, align, clean);
    return likely(first != 0) ? first : alloc_after_purge(n, align, put_backs, clean);
}

uint32_t run_alloc_to_fill(uint32_t n, bool *clean)
{
    const uint64_t put_backs = counter_get(&depot_usage.put_backs);
    const uint32_t first = depot_take_to_fill(n, clean);
    return likely(first != 0) ? first : alloc_after_purge(n, 1, put_backs, clean);
}
