/* What the depot does with runs under its lock: takes the one that serves best, lets the arena grow, and puts back. */
#include "space/depot.h"

#include "os/fatal.h"
#include "os/os.h"
#include "space/limit.h"

enum { RETURN_TRIES = 8 }; /* absent runs that are tried, one after the other, until one is mapped again */

/* More memory. */

/* The clean run at the end of the arena. 0: there is none. */
static uint32_t run_at_end(void)
{
    const size_t end = load_plain(&arena.committed_units);
    return end == 0 ? 0 : run_before((uint32_t)end, RUN_CLEAN);
}

/* Lets the arena grow until a clean run at its end has n aligned units. Returns that run, or 0 when there is no memory.
 * Only the step that the arena starts with may be too short. */
static uint32_t depot_extend(uint32_t n, uint32_t align)
{
    uint32_t run;
    do {
        const uint32_t at_end = run_at_end();
        const struct stretch fresh = arena_extend(n, align, at_end == 0 ? 0 : arena.runs[at_end].units);
        if (fresh.units == 0) {
            return 0;
        }
        run = run_join(fresh.first, fresh.units, RUN_CLEAN, TABLES_GONE);
        invariant(fresh.first == 1 || run_place(run, n, align) != 0);
    } while (run_place(run, n, align) == 0);
    return run;
}

/* The units of an absent run to map again at once, if the run is that long. */
static uint32_t return_units(uint32_t n)
{
    enum { RETURN_UNITS_MIN = (4 << 20) / UNIT_BYTES, RETURN_SHIFT = 3 };
    const size_t in_use = counter_get(&depot.units[RUN_USED]);
    return (uint32_t)max_size(n, max_size(RETURN_UNITS_MIN, in_use >> RETURN_SHIFT));
}

/* Makes a part of an absent run that cannot be mapped again a gap. */
static void run_lose(uint32_t first, uint32_t n)
{
    invariant(n != 0 && lock_is_held(&depot.lock));
    arena.runs[first].kind = RUN_USED;
    arena.units[first].first = 0;
    arena.units[first + n - 1].first = 0;
    counter_add(&depot.lost_units, n);
}

/* Maps units of an absent run again, from `first` on, which starts a page: `least` of them, or more where that
 * succeeds. They become part of the run *clean, or a gap. */
static enum arena_returned run_return(uint32_t run, uint32_t first, uint32_t least, uint32_t *clean)
{
    const uint32_t end = run + arena.runs[run].units;
    invariant(arena.runs[run].kind == RUN_ABSENT && first >= run && first < end && least <= end - first);
    uint32_t units = arena_page_up((uint32_t)min_size(first + (size_t)return_units(least), end)) - first;
    enum arena_returned returned = arena_return(first, units);
    if (returned != ARENA_RETURNED && units > least) {
        units = least;
        returned = arena_return(first, units);
    }
    if (returned == ARENA_NO_MEMORY) {
        return returned;
    }
    run_unlink(run);
    run_rest(run, first, RUN_ABSENT, 0, AT_END);
    run_rest(first + units, end, RUN_ABSENT, 0, AT_END);
    if (returned == ARENA_RETURNED) {
        *clean = run_join(first, units, RUN_CLEAN, TABLES_GONE);
    } else {
        run_lose(first, units);
    }
    return returned;
}

/* Maps a part of an absent run again that has n aligned units. Returns the clean run that has them, or 0 when there is
 * none, or no memory. A kernel that refuses some addresses may refuse all, so it tries only some runs. */
static uint32_t depot_return(uint32_t n, uint32_t align)
{
    uint32_t run, clean = 0;
    enum arena_returned returned = ARENA_LOST;
    for (unsigned i = 0; i < RETURN_TRIES && returned == ARENA_LOST && (run = run_find(RUN_ABSENT, n, align)) != 0;
         i++) {
        const uint32_t place = run_place(run, n, align);
        const uint32_t first = arena_page_down(place);
        returned = run_return(run, first, arena_page_up(place + n) - first, &clean);
    }
    invariant(clean == 0 || run_place(clean, n, align) != 0);
    return clean;
}

/* A clean run that has n aligned units, as it is, mapped again, or new. 0: there is no memory. */
static uint32_t clean_run(uint32_t n, uint32_t align)
{
    uint32_t run = run_find(RUN_CLEAN, n, align);
    run = run != 0 ? run : depot_return(n, align);
    return run != 0 ? run : depot_extend(n, align);
}

/* Taking and putting back. */

/* Whether the rest of a huge page is little beside what short runs have, or soon will be. */
static bool grows_huge(uint64_t now_ms)
{
    const size_t units = counter_get(&depot.short_units);
    return units >= HUGE_FROM_UNITS && huge_is_possible() &&
           (units >= HUGE_SURELY_UNITS || recent_use_soars(&depot.use, now_ms));
}

/* Whether n units out of a clean run should come with a huge page, which is claimed then. No shorter clean run has
 * them, so this is where the program grows. */
static bool run_takes_huge(uint32_t run, uint32_t n, uint64_t now_ms)
{
    return n <= HUGE_RUN_UNITS && grows_huge(now_ms) && run_place(run, HUGE_UNITS, HUGE_UNITS) != 0 &&
           limit_has_room(HUGE_UNITS) && huge_claim();
}

static void note_miss(uint32_t n, uint32_t given_back)
{
    invariant(lock_is_held(&depot.lock) && given_back <= n);
    recent_use_miss(&depot.use, n, given_back);
}

static uint32_t depot_take_run(uint32_t n, uint32_t align, bool fills, bool *clean)
{
    if (n >= arena.span_units || align >= arena.span_units) {
        return 0;
    }
    const uint64_t now_ms = os_now_ms();
    depot_lock();
    uint32_t run = run_find(RUN_STUCK, n, align);
    if (run == 0) {
        run = run_find(RUN_DIRTY, n, align);
    }
    *clean = run == 0;
    if (run == 0 && align == 1 && n >= ROW_UNITS_MIN && (run = row_find(n)) != 0) {
        const uint32_t fresh = row_fresh(run, n);
        const bool fits = fresh == 0 || limit_allows(fresh);
        invariant(fresh <= n && row_behind(run, n) >= n);
        note_miss(n, run_count_fresh(fits ? row_cut(run, n) : 0));
        *clean = false;
        depot_note_use(now_ms);
        depot_unlock();
        return fits ? run : 0;
    }
    if (run == 0 && limit_allows(n)) {
        run = clean_run(n, align);
    }
    const bool huge = fills && run != 0 && *clean && run_takes_huge(run, n, now_ms);
    const uint32_t units = huge ? HUGE_UNITS : n;
    const uint32_t first = run == 0 ? 0 : run_cut(run, units, huge ? HUGE_UNITS : align);
    note_miss(units, run_count_fresh(first != 0 && *clean ? units : 0));
    invariant(first == 0 || load_plain(&arena.units[first].tag) == TAG_NONE);
    invariant(((uintptr_t)arena_address(first) & (((size_t)align << UNIT_SHIFT) - 1)) == 0 || first == 0);
    depot_note_use(now_ms);
    depot_unlock();
    if (huge) {
        huge_fill(first);
        depot_trim(first, units, n); /* the rest has pages, so it is dirty, and serves before all that has none */
    }
    return first;
}

uint32_t depot_take_fresh(uint32_t n, uint32_t align)
{
    if (n >= arena.span_units || align >= arena.span_units) {
        return 0;
    }
    depot_lock();
    const uint32_t run = limit_has_room(n) ? clean_run(n, align) : 0;
    const uint32_t first = run == 0 ? 0 : run_cut(run, n, align);
    depot_unlock();
    return first;
}

uint32_t depot_take(uint32_t n, uint32_t align, bool *clean)
{
    return depot_take_run(n, align, false, clean);
}

uint32_t depot_take_to_fill(uint32_t n, bool *clean)
{
    return depot_take_run(n, 1, true, clean);
}

/* Under the lock. */
static void put_locked(uint32_t first, uint32_t n, unsigned kind, uint64_t now_ms)
{
    invariant(kind != RUN_USED && kind != RUN_STUCK && n != 0);
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    invariant(load_plain(&arena.units[first + n - 1].tag) == TAG_NONE);
    run_unmark(first);
    (void)run_join(first, n, kind, kind == RUN_DIRTY ? now_ms : kind == RUN_ABSENT ? TABLES_GONE : TABLES_THERE);
}

static void put_as(uint32_t first, uint32_t n, unsigned kind)
{
    const uint64_t now_ms = os_now_ms();
    depot_lock();
    put_locked(first, n, kind, now_ms);
    depot_note_use(now_ms);
    depot_unlock();
}

void depot_put(uint32_t first, uint32_t n, bool clean)
{
    put_as(first, n, clean ? RUN_CLEAN : RUN_DIRTY);
}

void depot_put_old(const struct old_runs *old)
{
    invariant(old->count <= OLD_RUNS);
    if (old->count != 0) {
        const uint64_t now_ms = os_now_ms();
        depot_lock();
        for (unsigned i = 0; i < old->count; i++) {
            put_locked(old->run[i].first, old->run[i].units, RUN_DIRTY, now_ms);
        }
        depot_note_use(now_ms);
        depot_unlock();
    }
}

void depot_put_left(uint32_t first, uint32_t n)
{
    put_as(first, n, RUN_ABSENT);
}

void depot_lose(uint32_t first, uint32_t n)
{
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    run_unmark(first);
    run_lose(first, n);
    depot_unlock();
}

/* The empty run that starts at `behind`, if it has at least `more` units; else 0. Where the arena ends there, it grows,
 * and an absent run there is mapped again. */
static uint32_t run_to_grow(uint32_t behind, uint32_t more)
{
    const uint32_t clean = run_behind(behind, RUN_CLEAN);
    const uint32_t units = clean == 0 ? 0 : arena.runs[clean].units;
    if (behind + units == load_plain(&arena.committed_units) && units < more) {
        const struct stretch fresh = arena_extend(more, 1, units);
        if (fresh.units != 0) {
            (void)run_join(fresh.first, fresh.units, RUN_CLEAN, TABLES_GONE);
        }
    }
    const uint32_t absent = run_behind(behind, RUN_ABSENT);
    if (absent != 0 && arena.runs[absent].units >= more) {
        uint32_t returned;
        (void)run_return(absent, absent, arena_page_up(absent + more) - absent, &returned);
    }
    return row_behind(behind, more) >= more ? behind : 0;
}

bool depot_grow(uint32_t first, uint32_t n, uint32_t wanted, bool *clean)
{
    invariant(wanted > n);
    const uint32_t behind = first + n;
    const uint32_t more = wanted - n;
    const uint64_t now_ms = os_now_ms();
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    const uint32_t run = limit_has_room(more) ? run_to_grow(behind, more) : 0;
    if (run != 0) {
        *clean = arena.runs[run].kind == RUN_CLEAN && arena.runs[run].units >= more;
        note_miss(more, run_count_fresh(row_cut(run, more)));
        run_unmark(behind);
        run_unmark(first);
        run_mark(first, wanted, RUN_USED);
    }
    depot_note_use(now_ms);
    depot_unlock();
    return run != 0;
}

void depot_trim(uint32_t first, uint32_t n, uint32_t keep)
{
    const uint64_t now_ms = os_now_ms();
    invariant(keep > 0 && keep < n);
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    run_unmark(first);
    run_mark(first, keep, RUN_USED);
    (void)run_join(first + keep, n - keep, RUN_DIRTY, now_ms);
    depot_note_use(now_ms);
    depot_unlock();
}

/* For purgers. */

/* Takes the first n units of an empty run out. Under the lock. */
static void purging_take(uint32_t run, uint32_t n)
{
    (void)run_cut(run, n, 1);
    counter_add(&depot.purging_units, n);
}

uint32_t depot_take_oldest(uint64_t before_ms, size_t dirty_limit, uint32_t max_units, uint32_t *n)
{
    depot_lock();
    uint32_t first = depot.aged.head;
    if (first != 0 &&
        (arena.runs[first].empty.dirty_since_ms < before_ms || counter_get(&depot.units[RUN_DIRTY]) > dirty_limit)) {
        const uint32_t units = arena.runs[first].units;
        const uint32_t whole = arena_page_down(first + max_units);
        *n = units <= max_units ? units : whole > first ? whole - first : max_units;
        invariant(*n != 0 && *n <= max_units && *n <= units);
        purging_take(first, *n);
    } else {
        first = 0;
    }
    depot_unlock();
    return first;
}

uint32_t depot_take_with_tables(uint32_t *n)
{
    depot_lock();
    const uint32_t first = depot.with_tables.head;
    if (first != 0) {
        invariant(arena.runs[first].kind == RUN_CLEAN && arena.runs[first].empty.tables_gone == TABLES_THERE);
        *n = arena.runs[first].units;
        purging_take(first, *n);
    }
    depot_unlock();
    return first;
}

uint32_t depot_take_clean(uint32_t least, uint32_t *n)
{
    depot_lock();
    const uint32_t first = run_find(RUN_CLEAN, least, 1);
    if (first != 0) {
        *n = arena.runs[first].units;
        purging_take(first, *n);
    }
    depot_unlock();
    invariant(first == 0 || *n >= least);
    return first;
}

static void put_back(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms)
{
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    invariant(counter_get(&depot.purging_units) >= n);
    counter_sub(&depot.purging_units, n);
    counter_add(&depot.put_backs, 1);
    run_unmark(first);
    (void)run_join(first, n, kind, since_ms);
    depot_unlock();
}

void depot_put_unpurged(uint32_t first, uint32_t n)
{
    put_back(first, n, RUN_DIRTY, os_now_ms());
}

void depot_put_refused(uint32_t first, uint32_t n)
{
    put_back(first, n, RUN_STUCK, 0);
}

void depot_put_without_tables(uint32_t first, uint32_t n, bool absent)
{
    put_back(first, n, absent ? RUN_ABSENT : RUN_CLEAN, TABLES_GONE);
}

void depot_split_taken(uint32_t first, uint32_t n, uint32_t cut)
{
    depot_lock();
    invariant(cut > 0 && cut < n && arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    run_unmark(first);
    run_mark(first, cut, RUN_USED);
    run_mark(first + cut, n - cut, RUN_USED);
    depot_unlock();
}

void depot_put_purged(uint32_t first, uint32_t n)
{
    const uint32_t end = first + n;
    const uint32_t from = arena_page_up(first);
    const uint32_t to = arena_page_down(end);
    const uint64_t now_ms = os_now_ms();
    invariant(from < to);
    if (first < from) {
        depot_split_taken(first, n, from - first);
        depot_put_unpurged(first, from - first);
    }
    if (to < end) {
        depot_split_taken(from, end - from, to - from);
        depot_put_unpurged(to, end - to);
    }
    put_back(from, to - from, RUN_CLEAN, TABLES_THERE);
    depot_lock();
    run_count_purged(to - from, now_ms);
    depot_unlock();
}

bool depot_unstick(void)
{
    const uint64_t now_ms = os_now_ms();
    depot_lock();
    const uint32_t run = run_find(RUN_STUCK, 1, 1);
    if (run != 0) {
        const uint32_t units = arena.runs[run].units;
        run_unlink(run);
        (void)run_join(run, units, RUN_DIRTY, now_ms);
    }
    depot_unlock();
    return run != 0;
}

bool depot_could_merge(void)
{
    const size_t unpurged = counter_get(&depot.units[RUN_DIRTY]) + counter_get(&depot.units[RUN_STUCK]);
    return unpurged != 0 || counter_get(&depot.purging_units) != 0;
}
