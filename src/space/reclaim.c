/* One purger at a time works under the purger's lock. The budget learns from how much of the purged memory is wanted
 * back within the delay. */
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
    RANGE_UNITS_MIN = (1 << 20) / UNIT_BYTES, /* the least that is worth a call, where there is so much */
    /* The most that one slow operation purges of runs that are merely old. */
    TICK_UNITS = (32 << 20) / UNIT_BYTES,
    SWEEP_UNITS = (8 << 20) / UNIT_BYTES, /* purged units after which the purger looks for long clean runs */
    SWEEP_RUNS = 64,                      /* runs that one such look takes at most */
    /* A run that loses its addresses, too, is at least as long as the arena's shortest step and as this fraction of the
     * arena. So a sweep makes at most 1 << LEAVE_SHIFT absent runs. Each of them costs the process some mappings. */
    LEAVE_UNITS_MIN = (4 << 20) / UNIT_BYTES,
    LEAVE_SHIFT = 6,
    PAUSE_MS_MIN = 10,                        /* the shortest pause after a refusal */
    LEARNED_UNITS = (128 << 20) / UNIT_BYTES, /* the most that the learned budget can be, if no more is in use */
    RETAIN_SHIFT = 5,                         /* the budget is at least this fraction of the units in use */
};

struct reclaim_counters reclaim_counters;

/* The state of the purger. It is written under the lock. Any thread may read the atomic fields. */
static struct {
    struct lock lock;
    atomic_size_t cache_budget_units; /* learned: units that were wanted back soon after they were purged */
    size_t unswept_units;             /* units purged since the side tables were swept */
    size_t purged_units;              /* units purged because of the budget, and not wanted back so far */
    atomic_size_t dirty_units;  /* the most dirty units that a slow operation has met since the budget last shrank */
    uint64_t purged_ms;         /* time of the last purge because of the budget */
    uint64_t fresh_units;       /* depot.fresh_units at that time */
    size_t gone_units;          /* units purged since patience_learn learned last */
    size_t mistaken_units;      /* purged_lately.mistaken_units at that time */
    uint64_t gone_ms;           /* time of the last purge */
    atomic_u32 patience;        /* log2 of how many delays a run waits */
    bool insists;               /* everything must go now */
    atomic_u64 paused_until_ms; /* end of the pause after a refusal; 0: the system has not refused */
} purger = { .lock = LOCK_INIT(RANK_PURGE) };

static size_t learned_most(void)
{
    return max_size(LEARNED_UNITS, counter_get(&depot.units[RUN_USED]));
}

/* The dirty units that may wait for reuse. Where the policy leaves it to the program's behaviour: the option, the
 * learned budget, or a share of the units in use, whichever is most; and the rest of a huge page. */
static size_t retain_units(void)
{
    const size_t used = counter_get(&depot.units[RUN_USED]);
    const size_t learned = min_size(load_plain(&purger.cache_budget_units), learned_most());
    const size_t asked = max_size(option_get(OPTION_RETAIN_BYTES) >> UNIT_SHIFT, used >> RETAIN_SHIFT);
    const size_t most = limit_presses() ? 0 : option_get(OPTION_RETAIN_LIMIT_BYTES) >> UNIT_SHIFT;
    switch ((enum purge_policy)option_word(OPTION_PURGE)) {
    case PURGE_EAGER:
        return 0;
    case PURGE_DELAYED:
    case PURGE_NEVER:
        return most;
    default:
        return min_size(max_size(learned, asked) + (depot_grows_huge() ? HUGE_UNITS : 0), most);
    }
}

/* What a purge because of the budget leaves: all of the budget while more than that is in use. A program that frees
 * most of what it has may be done. Then half of it is left. */
static size_t kept_units(void)
{
    const size_t budget = retain_units();
    return max_size(budget / 2, min_size(budget, counter_get(&depot.units[RUN_USED])));
}

/* A program that fills and empties its memory again and again should fault its pages in once. A program that is done
 * should lose them at once. So the budget grows by the memory that was purged and wanted again within the delay, and
 * halves for each delay in which nothing was purged because of it. Under the lock. */
static void cache_budget_learn(uint64_t now_ms, uint64_t delay_ms)
{
    invariant(lock_is_held(&purger.lock));
    const uint64_t age_ms = now_ms - purger.purged_ms;
    const uint64_t wanted = counter_get(&depot.fresh_units) - purger.fresh_units;
    size_t budget = load_plain(&purger.cache_budget_units);
    if (age_ms <= delay_ms) {
        const size_t mistaken = min_size(purger.purged_units, wanted);
        budget += mistaken;
        purger.purged_units -= mistaken;
    } else {
        budget >>= min_size(age_ms / max_size(delay_ms, 1), 63);
        purger.purged_units = 0;
        store_plain(&purger.dirty_units, 0);
    }
    store_plain(&purger.cache_budget_units, min_size(budget, learned_most()));
    purger.purged_ms = now_ms;
    purger.fresh_units = counter_get(&depot.fresh_units);
}

/* Memory that comes in bursts is wanted back after each pause. Where most of what was purged was wanted soon, runs wait
 * twice as long, and so does the budget, up to four delays; where none was, half as long. Under the lock. */
static void patience_learn(uint64_t now_ms, uint64_t delay_ms)
{
    enum { PATIENCE_MOST = 2 };
    const size_t mistaken = counter_get(&purged_lately.mistaken_units) - purger.mistaken_units;
    const uint32_t patience = load_plain(&purger.patience);
    invariant(lock_is_held(&purger.lock) && patience <= PATIENCE_MOST);
    invariant(counter_get(&purged_lately.mistaken_units) >= purger.mistaken_units);
    if (mistaken > purger.gone_units / 2) {
        store_plain(&purger.patience, patience < PATIENCE_MOST ? patience + 1 : patience);
    } else if (purger.gone_units == 0 || now_ms - purger.gone_ms <= delay_ms) {
        return; /* it is too early to tell */
    } else if (mistaken == 0 && patience != 0) {
        store_plain(&purger.patience, patience - 1);
    }
    purger.gone_units = 0;
    purger.mistaken_units += mistaken;
}

size_t reclaim_learned_bytes(void)
{
    /* The budget grows in leaps, and may exceed all that was ever dirty. */
    return min_size(load_plain(&purger.cache_budget_units), load_plain(&purger.dirty_units)) << UNIT_SHIFT;
}

bool reclaim_pages(char *start, size_t bytes)
{
    invariant(bytes != 0 && bytes % os_page_bytes() == 0 && (uintptr_t)start % os_page_bytes() == 0);
    const uint64_t begun_ns = trace_purge_begin(start, bytes);
    const bool purged = os_purge(start, bytes);
    trace_purge_end(begun_ns, start, bytes, purged);
    if (purged) {
        pages_set(start, start + bytes, false);
    }
    (void)fetch_add_relaxed(&reclaim_counters.calls, 1);
    (void)fetch_add_relaxed(purged ? &reclaim_counters.bytes : &reclaim_counters.refused, purged ? bytes : 1);
    return purged;
}

/* The side tables' entries about the inside of a long empty run are 0 or mean nothing, so their pages can go. Each time
 * that enough was purged, long clean runs lose those pages. The longest runs also lose their addresses, which
 * count for limits and for the memory that the system promises. Under the lock. */
static void sweep_clean(size_t purged_units, bool all)
{
    invariant(lock_is_held(&purger.lock));
    purger.unswept_units += purged_units;
    if (!all && purger.unswept_units < SWEEP_UNITS) {
        return;
    }
    purger.unswept_units = 0;
    /* A program that fills and empties its memory again and again would map absent runs as often. */
    const bool leaves = all || load_plain(&purger.cache_budget_units) == 0;
    const size_t leave_units = max_size(LEAVE_UNITS_MIN, load_plain(&arena.committed_units) >> LEAVE_SHIFT);
    uint32_t n;
    uint32_t first;
    for (unsigned i = 0; (all || i < SWEEP_RUNS) && (first = depot_take_unswept(&n)) != 0; i++) {
        invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n && n >= RUN_SWEEP_UNITS_MIN);
        const bool absent = leaves && n >= leave_units && arena_leave(first, n);
        if (!absent) {
            arena_sweep_tables(first, n);
        }
        depot_put_swept(first, n, absent);
    }
    /* And those that were swept when they could not leave. */
    bool left = all;
    while (left && (first = depot_take_clean((uint32_t)leave_units, &n)) != 0) {
        left = arena_leave(first, n);
        depot_put_swept(first, n, left);
    }
}

/* Whether pages are offered to the system, which takes them when it needs memory. Until then they keep their contents,
 * so their runs are as those that the system refused. */
static bool offers(void)
{
    return option_word(OPTION_PURGE) == PURGE_LAZY && !purger.insists;
}

static bool offer_units(uint32_t first, uint32_t end)
{
    const size_t bytes = (size_t)(end - first) << UNIT_SHIFT;
    invariant(first < end && lock_is_held(&purger.lock));
    invariant(first == arena_page_up(first) && end == arena_page_up(end));
    const uint64_t begun_ns = trace_purge_begin(arena_address(first), bytes);
    const bool offered = os_offer(arena_address(first), bytes);
    trace_purge_end(begun_ns, arena_address(first), bytes, offered);
    (void)fetch_add_relaxed(&reclaim_counters.calls, 1);
    (void)fetch_add_relaxed(offered ? &reclaim_counters.offered : &reclaim_counters.refused, offered ? bytes : 1);
    return offered;
}

static bool purge_units(uint32_t first, uint32_t end)
{
    invariant(first < end && first == arena_page_up(first) && end == arena_page_up(end));
    return reclaim_pages(arena_address(first), (size_t)(end - first) << UNIT_SHIFT);
}

/* The system has refused the whole pages of a run: some of it is memory that it does not take, such as a locked page.
 * Finds the first such place by bisection. Puts the part before it back as purged, the place as stuck, and the rest as
 * unpurged. Returns the bytes given to the system. */
static size_t purge_to_refusal(uint32_t first, uint32_t n)
{
    const uint32_t end = first + n;
    const uint32_t start = arena_page_up(first);
    uint32_t good = start;               /* the units before it are purged */
    uint32_t bad = arena_page_down(end); /* a part of the units from good to bad is refused */
    for (uint32_t middle; (middle = arena_page_down(good + (bad - good) / 2)) > good;) {
        if (purge_units(good, middle)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    invariant(start <= good && good < bad && bad <= end);
    const size_t bytes = (size_t)(good - start) << UNIT_SHIFT;
    if (good > start) {
        depot_split_taken(first, n, good - first);
        depot_put_purged(first, good - first);
        first = good;
    }
    if (bad < end) {
        depot_split_taken(first, end - first, bad - first);
        depot_put_unpurged(bad, end - bad);
    }
    depot_put_refused(first, bad - first);
    return bytes;
}

/* Purges a run that was taken out of the depot, puts it back, and adds the bytes given to the system to *bytes. False:
 * the system has refused. */
static bool purge_run(uint32_t first, uint32_t n, size_t *bytes)
{
    invariant(lock_is_held(&purger.lock) && counter_get(&depot.purging_units) >= n);
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    const uint32_t from = arena_page_up(first);
    const uint32_t to = arena_page_down(first + n);
    if (to <= from) {
        depot_put_unpurged(first, n); /* it has no whole page */
    } else if (offers() && offer_units(from, to)) {
        depot_put_refused(first, n);
        *bytes += (size_t)(to - from) << UNIT_SHIFT;
    } else if (purge_units(from, to)) {
        depot_put_purged(first, n);
        *bytes += (size_t)(to - from) << UNIT_SHIFT;
    } else {
        *bytes += purge_to_refusal(first, n);
        return false;
    }
    return true;
}

/* A system that refused is likely to refuse again: locked memory stays locked, and a sandbox stays closed. So purging
 * pauses after each refusal. */
void reclaim_pause(void)
{
    store_plain(&purger.paused_until_ms, os_now_ms() + max_size(option_get(OPTION_PURGE_DELAY_MS), PAUSE_MS_MIN));
}

static bool is_paused(uint64_t now_ms)
{
    const uint64_t until_ms = load_plain(&purger.paused_until_ms);
    return unlikely(until_ms != 0) && now_ms < until_ms;
}

/* The most that the next call may purge. If it is not for the age of what it purges, that is what is too much, or what
 * is worth a call. */
static uint32_t range_units(uint64_t before_ms, size_t dirty_limit)
{
    const size_t dirty = counter_get(&depot.units[RUN_DIRTY]);
    const size_t over = before_ms == 0 && dirty > dirty_limit ? dirty - dirty_limit : RANGE_UNITS;
    return (uint32_t)min_size(max_size(over, RANGE_UNITS_MIN), RANGE_UNITS);
}

/* Purges dirty runs, oldest first, until max_units are reached. Stops at the first refusal unless it insists. Returns
 * the bytes given to the system. Under the lock. */
static size_t purge_while(uint64_t before_ms, size_t dirty_limit, size_t max_units, bool insists)
{
    invariant(lock_is_held(&purger.lock));
    size_t bytes = 0;
    bool granted = true;
    for (size_t units = 0; units < max_units && (granted || insists);) {
        uint32_t n;
        const uint32_t first = depot_take_oldest(before_ms, dirty_limit, range_units(before_ms, dirty_limit), &n);
        if (first == 0) {
            break;
        }
        granted &= purge_run(first, n, &bytes);
        units += n;
    }
    if (granted) {
        store_plain(&purger.paused_until_ms, 0);
    } else {
        reclaim_pause();
    }
    return bytes;
}

bool reclaim_is_over_budget(void)
{
    return counter_get(&depot.units[RUN_DIRTY]) > retain_units() && load_plain(&purger.paused_until_ms) == 0;
}

bool reclaim_is_refused(void)
{
    return load_plain(&purger.paused_until_ms) != 0;
}

/* How long a run waits. */
static uint64_t waiting_ms(void)
{
    return option_get(OPTION_PURGE_DELAY_MS) << load_plain(&purger.patience);
}

/* Runs that became dirty before this time are due. */
static uint64_t purge_due_ms(uint64_t now_ms)
{
    const bool ages = option_word(OPTION_PURGE) != PURGE_NEVER;
    return ages && now_ms > waiting_ms() ? now_ms - waiting_ms() : 0;
}

/* Purges the runs that are due. Returns whether any went. Under the lock. */
static bool purge_due(size_t dirty, uint64_t now_ms)
{
    size_t bytes = 0;
    invariant(lock_is_held(&purger.lock));
    patience_learn(now_ms, option_get(OPTION_PURGE_DELAY_MS));
    if (dirty > retain_units()) {
        cache_budget_learn(now_ms, waiting_ms());
        if (dirty > retain_units()) {
            store_plain(&purger.dirty_units, max_size(load_plain(&purger.dirty_units), dirty));
            bytes = purge_while(0, kept_units(), dirty, false);
            purger.purged_units += bytes >> UNIT_SHIFT;
        }
    }
    if (!is_paused(now_ms)) {
        bytes += purge_while(purge_due_ms(now_ms), SIZE_MAX, TICK_UNITS, false);
    }
    if (bytes != 0) {
        purger.gone_units += bytes >> UNIT_SHIFT;
        purger.gone_ms = now_ms;
    }
    sweep_clean(bytes >> UNIT_SHIFT, false);
    return bytes != 0;
}

atomic_u32 reclaim_waits;

noinline void reclaim_wake(void)
{
    const uint32_t waits = exchange_seq_cst(&reclaim_waits, 0);
    invariant(waits <= RECLAIM_SLEEPS);
    if (waits == RECLAIM_SLEEPS) {
        os_futex_wake_one(&reclaim_waits);
    }
}

void reclaim_tick(void)
{
    reclaim_call();
    limit_look();
    (void)reclaim_due();
}

bool reclaim_due(void)
{
    const size_t dirty = counter_get(&depot.units[RUN_DIRTY]);
    const uint64_t paused_until_ms = load_plain(&purger.paused_until_ms);
    if (dirty == 0 && paused_until_ms == 0) {
        return false;
    }
    if (dirty > load_plain(&purger.dirty_units) && load_plain(&purger.cache_budget_units) != 0) {
        store_plain(&purger.dirty_units, dirty);
    }
    const uint64_t now_ms = os_now_ms();
    if (paused_until_ms != 0 && now_ms >= paused_until_ms) {
        store_plain(&purger.paused_until_ms, 0);
    }
    if ((dirty <= retain_units() && load_plain(&depot.oldest_ms) >= purge_due_ms(now_ms)) || is_paused(now_ms)) {
        return false;
    }
    bool purged = false;
    if (lock_try(&purger.lock)) {
        purged = purge_due(dirty, now_ms);
        lock_release(&purger.lock);
    }
    return purged;
}

/* Purges all runs that may have pages, also those that the system refused or was offered. Returns the bytes given to
 * the system. Under the lock. */
static size_t purge_all(void)
{
    invariant(lock_is_held(&purger.lock) && !purger.insists);
    while (depot_unstick()) {
    }
    /* No more than was dirty at the start: other threads may be freeing all the time. */
    purger.insists = true;
    const size_t purged = purge_while(UINT64_MAX, SIZE_MAX, counter_get(&depot.units[RUN_DIRTY]), true);
    purger.insists = false;
    return purged;
}

size_t reclaim_all(void)
{
    lock_acquire(&purger.lock);
    const size_t purged = purge_all();
    sweep_clean(purged >> UNIT_SHIFT, true);
    lock_release(&purger.lock);
    return purged;
}

/* No run was long enough. There had been `put_backs` before. */
static noinline uint32_t take_at_last(uint32_t n, uint32_t align, uint64_t put_backs, bool *clean)
{
    if (!depot_could_merge() && counter_get(&depot.put_backs) == put_backs) {
        return 0;
    }
    lock_acquire(&purger.lock);
    if (!is_paused(os_now_ms())) {
        (void)purge_all();
    }
    lock_release(&purger.lock);
    return depot_take(n, align, clean);
}

uint32_t reclaim_take(uint32_t n, uint32_t align, bool *clean)
{
    const uint64_t put_backs = counter_get(&depot.put_backs);
    invariant(n != 0 && is_power_of_two(align));
    const uint32_t first = depot_take(n, align, clean);
    return likely(first != 0) ? first : take_at_last(n, align, put_backs, clean);
}

uint32_t reclaim_take_to_fill(uint32_t n, bool *clean)
{
    const uint64_t put_backs = counter_get(&depot.put_backs);
    const uint32_t first = depot_take_to_fill(n, clean);
    return likely(first != 0) ? first : take_at_last(n, 1, put_backs, clean);
}
