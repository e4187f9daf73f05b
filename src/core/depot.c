/* Boundary tags and bins: a run finds its neighbours by `first` of the units before and behind it, and a search finds a
 * run that fits by its bin. Cutting and joining keep every run marked and linked. */
#include "core/depot.h"

#include "os/fatal.h"
#include "os/os.h"

/* is_swept of a clean run, in place of a time. A run that merges with an unswept one is unswept. */
enum { UNSWEPT = 0, SWEPT = 1 };

enum {
    FIT_TRIES = 8,      /* runs of one bin that a search looks at before it turns to a larger bin */
    FIT_TRIES_ALL = 32, /* runs that a search looks at in all bins whose runs may be too short */
};

struct depot depot = { .lock = LOCK_INIT(RANK_DEPOT), .oldest_ms = UINT64_MAX };

/* All threads wait for this lock, so the work under it must not grow with the number of runs. Checked builds count the
 * runs and bins that an operation looks at. */
enum { STEPS_MOST = 512 };
static unsigned steps;

static void count_step(void)
{
    steps += TSLAB_CHECKED != 0;
}

static void depot_lock(void)
{
    lock_acquire(&depot.lock);
    steps = 0;
}

static void depot_unlock(void)
{
    invariant(steps <= STEPS_MOST);
    lock_release(&depot.lock);
}

/* Two lists share their links: dirty runs by age, and long clean runs to be swept. A run is on at most one of them. */

static struct run_list *age_list_of(const struct run *run)
{
    if (run->kind == RUN_DIRTY) {
        return &depot.aged;
    }
    const bool waits = run->kind == RUN_CLEAN && run->empty.is_swept == UNSWEPT && run->units >= RUN_SWEEP_UNITS_MIN;
    return waits ? &depot.unswept : NULL;
}

static void age_publish(void)
{
    store_plain(&depot.oldest_ms, depot.aged.head == 0 ? UINT64_MAX : arena.runs[depot.aged.head].empty.dirty_since_ms);
}

/* Links a run behind another. Behind 0: at the head. */
static void age_link(struct run_list *list, uint32_t first, uint32_t behind)
{
    struct run *const run = &arena.runs[first];
    invariant(first != behind && (list->head == 0) == (list->tail == 0));
    invariant(behind == 0 || age_list_of(&arena.runs[behind]) == list);
    run->empty.prev = behind;
    run->empty.next = behind == 0 ? list->head : arena.runs[behind].empty.next;
    *(behind == 0 ? &list->head : &arena.runs[behind].empty.next) = first;
    *(run->empty.next == 0 ? &list->tail : &arena.runs[run->empty.next].empty.prev) = first;
}

static void age_unlink(struct run_list *list, uint32_t first)
{
    const struct run *const run = &arena.runs[first];
    invariant(run->empty.prev == 0 ? list->head == first : arena.runs[run->empty.prev].empty.next == first);
    invariant(run->empty.next == 0 ? list->tail == first : arena.runs[run->empty.next].empty.prev == first);
    *(run->empty.prev == 0 ? &list->head : &arena.runs[run->empty.prev].empty.next) = run->empty.next;
    *(run->empty.next == 0 ? &list->tail : &arena.runs[run->empty.next].empty.prev) = run->empty.prev;
}

/* Runs. */

static void run_mark(uint32_t first, uint32_t n, unsigned kind)
{
    invariant(first != 0 && n != 0 && first + n <= load_plain(&arena.committed_units) && kind < RUN_KINDS);
    arena.runs[first].units = n;
    arena.runs[first].kind = kind;
    arena.units[first].first = first;
    arena.units[first + n - 1].first = first;
    counter_add(&depot.units[kind], n);
    counter_add(&depot.short_units, kind == RUN_USED && n <= HUGE_RUN_UNITS ? n : 0);
}

static void run_unmark(uint32_t first)
{
    const struct run *const run = &arena.runs[first];
    invariant(arena.units[first].first == first && arena.units[first + run->units - 1].first == first);
    invariant(run->kind < RUN_KINDS && counter_get(&depot.units[run->kind]) >= run->units);
    counter_set(&depot.units[run->kind], counter_get(&depot.units[run->kind]) - run->units);
    const size_t short_units = run->kind == RUN_USED && run->units <= HUGE_RUN_UNITS ? run->units : 0;
    invariant(counter_get(&depot.short_units) >= short_units);
    counter_set(&depot.short_units, counter_get(&depot.short_units) - short_units);
}

/* Marks an empty run and links it: into its bin, and on its list behind another run, or for AT_END at the end. */
enum { AT_END = UINT32_MAX };

static void run_link(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms, uint32_t behind)
{
    invariant(lock_is_held(&depot.lock) && kind != RUN_USED && load_plain(&arena.units[first].tag) == TAG_NONE);
    invariant(kind < RUN_CLEAN || (first == arena_page_up(first) && first + n == arena_page_up(first + n)));
    run_mark(first, n, kind);
    arena.runs[first].empty.dirty_since_ms = since_ms;
    bins_link(&depot.bins, first);
    struct run_list *const list = age_list_of(&arena.runs[first]);
    if (list != NULL) {
        if (behind == AT_END) {
            behind = list->tail;
            /* Threads read the clock before they take the lock. The run that is linked last counts as the youngest. */
            if (kind == RUN_DIRTY && behind != 0 && arena.runs[behind].empty.dirty_since_ms > since_ms) {
                arena.runs[first].empty.dirty_since_ms = arena.runs[behind].empty.dirty_since_ms;
            }
        }
        age_link(list, first, behind);
        age_publish();
    }
}

static void run_unlink(uint32_t first)
{
    invariant(lock_is_held(&depot.lock) && arena.runs[first].kind != RUN_USED);
    struct run_list *const list = age_list_of(&arena.runs[first]);
    bins_unlink(&depot.bins, first);
    if (list != NULL) {
        age_unlink(list, first);
        age_publish();
    }
    run_unmark(first);
}

/* The first of n units in an empty run whose address is a multiple of align units. 0 when the run has none. */
static uint32_t run_place(uint32_t run, uint32_t n, uint32_t align)
{
    const uintptr_t start = round_up((uintptr_t)arena_address(run), (size_t)align << UNIT_SHIFT);
    const size_t before = (start - (uintptr_t)arena_address(run)) >> UNIT_SHIFT;
    const size_t units = arena.runs[run].units;
    return start != 0 && before < units && n <= units - before ? run + (uint32_t)before : 0;
}

/* A run of the kind that has n aligned units. It stays linked. 0 when there is none. From the bin `surely` on, each run
 * is long enough for the alignment. Of the runs in lower bins, which may be too short or lie badly, the search looks
 * only at some. */
static uint32_t run_find(unsigned kind, uint32_t n, uint32_t align)
{
    const unsigned surely = bins_of((uint32_t)min_size((size_t)n + (align - 1), ARENA_UNITS_MOST)) + 1;
    unsigned tries = 0;
    for (unsigned bin = bins_occupied(&depot.bins, kind, bins_of(n)); bin < BINS;
         bin = bins_occupied(&depot.bins, kind, bin + 1)) {
        count_step();
        if (bin < surely && tries >= FIT_TRIES_ALL) {
            bin = surely - 1;
            continue;
        }
        uint32_t run = bins_first(&depot.bins, kind, bin);
        for (unsigned i = 0; run != 0 && i < FIT_TRIES; run = arena.runs[run].next, i++, tries++) {
            count_step();
            if (bin >= surely || run_place(run, n, align) != 0) {
                invariant(arena.runs[run].kind == kind && arena.runs[run].units >= n);
                return run;
            }
        }
    }
    return 0;
}

/* The run that starts at `behind`, or that ends before `first`, if it is of the kind. Else 0. A gap has no runs. */
static uint32_t run_behind(uint32_t behind, unsigned kind)
{
    const bool is = behind < load_plain(&arena.committed_units) && arena.units[behind].first == behind &&
                    arena.runs[behind].kind == kind;
    return is ? behind : 0;
}

static uint32_t run_before(uint32_t first, unsigned kind)
{
    const uint32_t before = arena.units[first - 1].first;
    return before != 0 && arena.runs[before].kind == kind ? before : 0;
}

/* Links an empty run, merged with its empty neighbours of the same kind. The result is as young as its youngest part.
 */
static void run_join(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms)
{
    const uint32_t neighbours[] = { run_behind(first + n, kind), run_before(first, kind) };
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t run = neighbours[i];
        if (run != 0) {
            invariant(run == first + n || run + arena.runs[run].units == first);
            const uint64_t other_ms = arena.runs[run].empty.dirty_since_ms;
            since_ms = kind == RUN_CLEAN ? min_size(since_ms, other_ms) : max_size(since_ms, other_ms);
            n += arena.runs[run].units;
            run_unlink(run);
            first = run < first ? run : first;
        }
    }
    invariant(run_behind(first + n, kind) == 0 && run_before(first, kind) == 0);
    run_link(first, n, kind, since_ms, AT_END);
}

/* Leaves the units from first to end empty. They are the rest of an empty run that was cut, and keep its place on its
 * list. Where the run had no pages, the part of a page that the used units touch is dirty. That part is joined last,
 * because its neighbour may be dirty too. */
static void run_rest(uint32_t first, uint32_t end, unsigned kind, uint64_t since_ms, uint32_t behind)
{
    invariant(first <= end && kind != RUN_USED);
    if (first == end) {
        return;
    }
    const uint32_t from = kind >= RUN_CLEAN ? arena_page_up(first) : first;
    const uint32_t to = kind >= RUN_CLEAN ? arena_page_down(end) : end;
    if (from < to) {
        run_link(from, to - from, kind, since_ms, behind);
    }
    if (first < from) {
        run_join(first, from - first, RUN_DIRTY, os_now_ms());
    }
    if (to < end) {
        run_join(to, end - to, RUN_DIRTY, os_now_ms());
    }
}

/* Cuts n aligned units out of an empty run that has them, and leaves the rest empty. */
static uint32_t run_cut(uint32_t run, uint32_t n, uint32_t align)
{
    const unsigned kind = arena.runs[run].kind;
    const uint32_t end = run + arena.runs[run].units;
    const uint64_t since_ms = arena.runs[run].empty.dirty_since_ms;
    const uint32_t behind = age_list_of(&arena.runs[run]) == NULL ? AT_END : arena.runs[run].empty.prev;
    const uint32_t first = run_place(run, n, align);
    invariant(first != 0);
    run_unlink(run);
    run_mark(first, n, RUN_USED);
    run_rest(run, first, kind, since_ms, behind);
    run_rest(first + n, end, kind, since_ms, behind);
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    return first;
}

/* More memory. */

/* The clean run at the end of the arena. 0: there is none. */
static uint32_t run_at_end(void)
{
    const size_t end = load_plain(&arena.committed_units);
    return end == 0 ? 0 : run_before((uint32_t)end, RUN_CLEAN);
}

/* Lets the arena grow until a clean run has n aligned units. Returns that run, or 0 when there is no memory. */
static uint32_t depot_extend(uint32_t n, uint32_t align)
{
    uint32_t run = 0;
    while (run == 0) {
        const uint32_t at_end = run_at_end();
        const struct stretch fresh = arena_extend(n, align, at_end == 0 ? 0 : arena.runs[at_end].units);
        if (fresh.units == 0) {
            return 0;
        }
        run_join(fresh.first, fresh.units, RUN_CLEAN, SWEPT);
        run = run_find(RUN_CLEAN, n, align);
    }
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
 * succeeds. They become clean, or a gap. */
static enum arena_returned run_return(uint32_t run, uint32_t first, uint32_t least)
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
        run_join(first, units, RUN_CLEAN, SWEPT);
    } else {
        run_lose(first, units);
    }
    return returned;
}

/* Maps a part of an absent run again that has n aligned units. Returns the clean run that has them, or 0 when there is
 * none, or no memory. */
static uint32_t depot_return(uint32_t n, uint32_t align)
{
    uint32_t run;
    enum arena_returned returned = ARENA_LOST;
    while (returned == ARENA_LOST && (run = run_find(RUN_ABSENT, n, align)) != 0) {
        const uint32_t place = run_place(run, n, align);
        const uint32_t first = arena_page_down(place);
        returned = run_return(run, first, arena_page_up(place + n) - first);
    }
    return returned == ARENA_RETURNED ? run_find(RUN_CLEAN, n, align) : 0;
}

/* Taking and putting back. */

/* Whether n units out of a clean run should come with a huge page. No shorter clean run has them, so this is where the
 * program grows. */
static bool run_takes_huge(uint32_t run, uint32_t n)
{
    return n <= HUGE_RUN_UNITS && depot_grows_huge() && run_place(run, HUGE_UNITS, HUGE_UNITS) >= arena.huge_from &&
           huge_pays();
}

uint32_t depot_take(uint32_t n, uint32_t align, bool *clean)
{
    if (n >= arena.span_units || align >= arena.span_units) {
        return 0;
    }
    depot_lock();
    uint32_t run = run_find(RUN_STUCK, n, align);
    if (run == 0) {
        run = run_find(RUN_DIRTY, n, align);
    }
    *clean = run == 0;
    if (run == 0) {
        run = run_find(RUN_CLEAN, n, align);
    }
    if (run == 0) {
        run = depot_return(n, align);
    }
    if (run == 0) {
        run = depot_extend(n, align);
    }
    const bool huge = run != 0 && *clean && align == 1 && run_takes_huge(run, n);
    const uint32_t units = huge ? HUGE_UNITS : n;
    const uint32_t first = run == 0 ? 0 : run_cut(run, units, huge ? HUGE_UNITS : align);
    counter_add(&depot.fresh_units, first != 0 && *clean ? units : 0);
    invariant(first == 0 || load_plain(&arena.units[first].tag) == TAG_NONE);
    invariant(((uintptr_t)arena_address(first) & (((size_t)align << UNIT_SHIFT) - 1)) == 0 || first == 0);
    depot_unlock();
    if (huge) {
        huge_fill(first);
        depot_trim(first, units, n); /* the rest has pages, so it is dirty, and serves before all that has none */
    }
    return first;
}

void depot_put(uint32_t first, uint32_t n, bool clean)
{
    const uint64_t now_ms = clean ? 0 : os_now_ms();
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    invariant(load_plain(&arena.units[first + n - 1].tag) == TAG_NONE);
    run_unmark(first);
    run_join(first, n, clean ? RUN_CLEAN : RUN_DIRTY, clean ? UNSWEPT : now_ms);
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
            run_join(fresh.first, fresh.units, RUN_CLEAN, SWEPT);
        }
    }
    const uint32_t absent = run_behind(behind, RUN_ABSENT);
    if (absent != 0 && arena.runs[absent].units >= more) {
        (void)run_return(absent, absent, arena_page_up(absent + more) - absent);
    }
    for (unsigned kind = RUN_STUCK; kind <= RUN_CLEAN; kind++) {
        const uint32_t run = run_behind(behind, kind);
        if (run != 0 && arena.runs[run].units >= more) {
            return run;
        }
    }
    return 0;
}

bool depot_grow(uint32_t first, uint32_t n, uint32_t wanted, bool *clean)
{
    invariant(wanted > n);
    const uint32_t behind = first + n;
    const uint32_t more = wanted - n;
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    const uint32_t run = run_to_grow(behind, more);
    if (run != 0) {
        *clean = arena.runs[run].kind == RUN_CLEAN;
        (void)run_cut(run, more, 1);
        run_unmark(behind);
        run_unmark(first);
        run_mark(first, wanted, RUN_USED);
    }
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
    run_join(first + keep, n - keep, RUN_DIRTY, now_ms);
    depot_unlock();
}

/* For purgers. */

static void purging_add(size_t units)
{
    counter_add(&depot.purging_units, units);
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
        first = run_cut(first, *n, 1);
        purging_add(*n);
    } else {
        first = 0;
    }
    depot_unlock();
    return first;
}

uint32_t depot_take_unswept(uint32_t *n)
{
    depot_lock();
    uint32_t first = depot.unswept.head;
    if (first != 0) {
        invariant(age_list_of(&arena.runs[first]) == &depot.unswept);
        *n = arena.runs[first].units;
        first = run_cut(first, *n, 1);
        purging_add(*n);
    }
    depot_unlock();
    return first;
}

static void put_back(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms)
{
    depot_lock();
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
    invariant(counter_get(&depot.purging_units) >= n);
    purging_add(-(size_t)n);
    counter_add(&depot.put_backs, 1);
    run_unmark(first);
    run_join(first, n, kind, since_ms);
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

void depot_put_swept(uint32_t first, uint32_t n, bool absent)
{
    put_back(first, n, absent ? RUN_ABSENT : RUN_CLEAN, SWEPT);
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
    invariant(from < to);
    if (first < from) {
        depot_split_taken(first, n, from - first);
        depot_put_unpurged(first, from - first);
    }
    if (to < end) {
        depot_split_taken(from, end - from, to - from);
        depot_put_unpurged(to, end - to);
    }
    put_back(from, to - from, RUN_CLEAN, UNSWEPT);
}

bool depot_unstick(void)
{
    const uint64_t now_ms = os_now_ms();
    depot_lock();
    const uint32_t run = run_find(RUN_STUCK, 1, 1);
    if (run != 0) {
        const uint32_t units = arena.runs[run].units;
        run_unlink(run);
        run_join(run, units, RUN_DIRTY, now_ms);
    }
    depot_unlock();
    return run != 0;
}

bool depot_could_merge(void)
{
    return counter_get(&depot.units[RUN_DIRTY]) != 0 || counter_get(&depot.purging_units) != 0;
}
