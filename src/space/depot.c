/* The depot takes the run that serves best, and puts runs back, under its lock. */
#include "space/depot.h"

#include "os/fatal.h"
#include "os/os.h"
#include "space/growth.h"
#include "space/limit.h"

/* Taking and putting back. */

/* Whether n units out of a clean run should come with a huge page, which is claimed then. No shorter clean run has
 * them, so this is where the program grows. The rest of a huge page is little beside what short runs have, or soon will
 * be. */
static bool run_takes_huge(uint32_t run, uint32_t n, uint64_t now_ms)
{
    const size_t units = counter_get(&depot.short_units);
    return n <= HUGE_RUN_UNITS && units >= HUGE_FROM_UNITS && huge_is_possible() &&
           (units >= HUGE_SURELY_UNITS || recent_use_soars(&depot.use, now_ms)) &&
           run_place(run, HUGE_UNITS, HUGE_UNITS) != 0 && limit_has_room(HUGE_UNITS) && huge_claim();
}

/* A request for a run, and its result. */
struct request {
    uint32_t n, align;
    bool fresh; /* only units without pages */
    bool fills; /* for a slab, which will be filled */
    uint64_t now_ms;
    bool clean;   /* what was taken reads as zero */
    bool huge;    /* it is a huge page, which is claimed */
    bool refused; /* a limit forbids it */
};

/* `units` are taken, of which `fresh` have no pages. */
static void note_fresh(uint32_t units, uint32_t fresh)
{
    invariant(fresh <= units);
    const size_t given_back = run_count_fresh(fresh);
    const size_t waits = counter_get(&depot.units[RUN_DIRTY]) + depot_free_slot_units();
    recent_use_miss(&depot.use, units, min_size(fresh - given_back, waits), given_back);
}

/* Takes n units of a row. */
static uint32_t take_row(struct request *request, uint32_t run)
{
    const uint32_t fresh = row_fresh(run, request->n);
    request->refused = fresh != 0 && !limit_allows(fresh);
    invariant(fresh <= request->n && row_behind(run, request->n) >= request->n);
    if (request->refused) {
        return 0;
    }
    (void)row_cut(run, request->n);
    note_fresh(request->n, fresh);
    return run;
}

/* Takes units out of a clean run that has them, unless the limit forbids it. Run 0: there is none. */
static uint32_t take_clean(struct request *request, uint32_t run)
{
    request->refused = !(request->fresh ? limit_has_room(request->n) : limit_allows(request->n));
    if (request->refused || run == 0) {
        return 0;
    }
    request->clean = true;
    request->huge = request->fills && run_takes_huge(run, request->n, request->now_ms);
    const uint32_t units = request->huge ? HUGE_UNITS : request->n;
    if (!request->fresh) {
        note_fresh(units, units);
    }
    return run_cut(run, units, request->huge ? HUGE_UNITS : request->align);
}

/* Takes what serves best of what is empty. 0: nothing does, or a limit forbids it. Under the lock. */
static uint32_t take_empty(struct request *request)
{
    const uint32_t n = request->n;
    request->refused = false;
    uint32_t run = request->fresh ? 0 : run_find(RUN_DIRTY, n, request->align);
    if (run != 0) {
        return run_cut(run, n, request->align);
    }
    if (!request->fresh && request->align == 1 && n > 1 && (run = row_find(n)) != 0) {
        return take_row(request, run);
    }
    return take_clean(request, run_find(RUN_CLEAN, n, request->align));
}

/* A block that moves is in use once. */
static void note_use(const struct request *request)
{
    if (!request->fresh) {
        depot_note_use(request->now_ms);
    }
}

/* Takes what becomes empty by growth. */
static uint32_t take_grown(struct request *request)
{
    struct growth growth = { .n = request->n, .align = request->align };
    uint32_t run;
    growth_lock();
    uint32_t first = take_empty(request); /* another thread may have grown */
    while (first == 0 && !request->refused && growth_step(&growth, &run)) {
        first = take_clean(request, run);
    }
    note_use(request);
    growth_unlock();
    return first;
}

static uint32_t depot_take_run(struct request *request)
{
    if (request->n >= arena.span_units || request->align >= arena.span_units) {
        return 0;
    }
    request->now_ms = os_now_ms();
    depot_lock();
    uint32_t first = take_empty(request);
    note_use(request);
    depot_unlock();
    if (first == 0 && !request->refused) {
        first = take_grown(request);
    }
    invariant(first == 0 || load_plain(&arena.units[first].tag) == TAG_NONE);
    invariant(first == 0 || ((uintptr_t)arena_address(first) & (((size_t)request->align << UNIT_SHIFT) - 1)) == 0);
    if (request->huge) {
        huge_fill(first);
        /* The rest has pages, so it is dirty, and serves before all that has none. */
        depot_trim(first, HUGE_UNITS, request->n);
    }
    return first;
}

uint32_t depot_take_fresh(uint32_t n, uint32_t align)
{
    struct request request = { .n = n, .align = align, .fresh = true };
    return depot_take_run(&request);
}

uint32_t depot_take(uint32_t n, uint32_t align, bool *clean)
{
    struct request request = { .n = n, .align = align };
    const uint32_t first = depot_take_run(&request);
    *clean = request.clean;
    return first;
}

uint32_t depot_take_to_fill(uint32_t n, bool *clean)
{
    struct request request = { .n = n, .align = 1, .fills = true };
    const uint32_t first = depot_take_run(&request);
    *clean = request.clean;
    return first;
}

/* Under the lock. */
static void put_locked(uint32_t first, uint32_t n, unsigned kind, uint64_t now_ms)
{
    invariant(kind != RUN_USED && n != 0);
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    invariant(load_plain(&arena.units[first + n - 1].tag) == TAG_NONE);
    run_unmark(first);
    limit_forget_gone(&arena.runs[first]);
    counter_add(&depot_usage.emptied_units, kind == RUN_DIRTY ? n : 0);
    (void)run_join(first, n, kind, kind == RUN_DIRTY ? now_ms : TABLES_THERE);
}

void depot_put(uint32_t first, uint32_t n, bool clean)
{
    const uint64_t now_ms = os_now_ms();
    depot_lock();
    put_locked(first, n, clean ? RUN_CLEAN : RUN_DIRTY, now_ms);
    depot_note_use(now_ms);
    depot_unlock();
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

void depot_lose(uint32_t first, uint32_t n)
{
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    run_unmark(first);
    run_lose(first, n);
    depot_unlock();
}

/* Grows a run by units of the row behind it, if there are so many. *refused: a limit forbids it. Under the lock. */
static bool grow_into_row(uint32_t first, uint32_t n, uint32_t more, bool *clean, bool *refused)
{
    const uint32_t behind = first + n;
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    *refused = !limit_has_room(more);
    if (*refused || row_behind(behind, more) < more) {
        return false;
    }
    *clean = arena.runs[behind].kind == RUN_CLEAN && arena.runs[behind].units >= more;
    const uint32_t fresh = row_cut(behind, more);
    note_fresh(more, fresh);
    run_unmark(behind);
    run_unmark(first);
    run_mark(first, n + more, RUN_USED);
    return true;
}

bool depot_grow(uint32_t first, uint32_t n, uint32_t wanted, bool *clean)
{
    invariant(wanted > n);
    const uint32_t more = wanted - n;
    const uint64_t now_ms = os_now_ms();
    bool refused;
    depot_lock();
    bool grown = grow_into_row(first, n, more, clean, &refused);
    const bool grows = !grown && !refused && growth_could_serve(first + n, more);
    depot_note_use(now_ms);
    depot_unlock();
    if (grows) {
        growth_lock();
        growth_behind(first + n, more);
        grown = grow_into_row(first, n, more, clean, &refused);
        depot_note_use(now_ms);
        growth_unlock();
    }
    return grown;
}

void depot_trim(uint32_t first, uint32_t n, uint32_t keep)
{
    const uint64_t now_ms = os_now_ms();
    invariant(keep > 0 && keep < n);
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    run_unmark(first);
    run_mark(first, keep, RUN_USED);
    counter_add(&depot_usage.emptied_units, n - keep);
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

static void put_back(uint32_t first, uint32_t n, unsigned kind, uint64_t tables)
{
    const uint64_t now_ms = os_now_ms();
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    invariant(counter_get(&depot.purging_units) >= n);
    counter_sub(&depot.purging_units, n);
    counter_add(&depot_usage.put_backs, 1);
    run_unmark(first);
    (void)run_join(first, n, kind, kind == RUN_DIRTY ? now_ms : tables);
    if (kind == RUN_CLEAN && tables == TABLES_THERE) {
        run_count_purged(n, now_ms);
    }
    depot_unlock();
}

void depot_put_unpurged(uint32_t first, uint32_t n)
{
    put_back(first, n, RUN_DIRTY, TABLES_THERE);
}

void depot_put_without_tables(uint32_t first, uint32_t n)
{
    put_back(first, n, RUN_CLEAN, TABLES_GONE);
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
    const uint32_t from = arena_page_up(first), end = first + n;
    invariant(from < end && end == arena_page_up(end));
    if (first < from) {
        depot_split_taken(first, n, from - first);
        depot_put_unpurged(first, from - first);
    }
    put_back(from, end - from, RUN_CLEAN, TABLES_THERE);
}

bool depot_could_merge(uint64_t put_backs)
{
    depot_lock(); /* what a purger has put back, it counted before it released the lock */
    const bool could = counter_get(&depot.units[RUN_DIRTY]) != 0 || counter_get(&depot.purging_units) != 0 ||
                       counter_get(&depot_usage.put_backs) != put_backs;
    depot_unlock();
    return could;
}
