/* Boundary tags and bins: a run finds its neighbours by `first` of the units before and behind it, and a search finds a
 * run that fits by its bin. Cutting and joining keep every run marked and linked. */
#include "space/free_runs.h"

#include "common/option.h"
#include "os/fatal.h"
#include "os/os.h"

enum {
    FIT_TRIES = 8,      /* runs of one bin that a search looks at */
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

void depot_lock(void)
{
    lock_acquire(&depot.lock);
    steps = 0;
}

void depot_unlock(void)
{
    invariant(steps <= STEPS_MOST);
    lock_release(&depot.lock);
}

size_t depot_free_slot_units(void)
{
    const size_t slots = load_relaxed(&depot_usage.slot_bytes), out = depot_out_bytes();
    return slots > out ? (slots - out) >> UNIT_SHIFT : 0;
}

size_t depot_in_use(void)
{
    const size_t used = counter_get(&depot.units[RUN_USED]);
    const size_t away = counter_get(&depot.purging_units) + depot_free_slot_units();
    return used > away ? used - away : 0;
}

void depot_note_use(uint64_t now_ms)
{
    invariant(lock_is_held(&depot.lock));
    const size_t units = depot_in_use();
    recent_use_note(&depot.use, units, now_ms, option_get(OPTION_PURGE_DELAY_MS));
    store_plain(&depot_usage.noted_units, units);
}

/* Bins. Each is a list through the runs' descriptors. A bitmap of the bins that are not empty makes a search one look
 * at a few words. */

enum {
    EXACT_BINS = 32, /* lengths that have a bin each; longer ones have four a doubling */
    EXACT_SHIFT = 5,
    UNITS_LOG = 30,
};

_Static_assert(ARENA_UNITS_MOST <= 1 << UNITS_LOG && EXACT_BINS == 1 << EXACT_SHIFT &&
                   EXACT_BINS + ((UNITS_LOG - EXACT_SHIFT) << 2) + 3 < BINS && BINS % 64 == 0,
               "the longest run has a bin");

unsigned bin_of(uint32_t n)
{
    invariant(n > 0 && n <= ARENA_UNITS_MOST);
    if (n <= EXACT_BINS) {
        return n - 1;
    }
    const unsigned log = bit_highest(n);
    const unsigned bin = EXACT_BINS + ((log - EXACT_SHIFT) << 2) + ((n >> (log - 2)) & 3);
    invariant(bin < BINS);
    return bin;
}

static void bin_link(uint32_t first)
{
    struct run *const run = &arena.runs[first];
    invariant(first != 0 && run->kind > RUN_USED && run->kind < RUN_KINDS);
    const unsigned bin = bin_of(run->units);
    uint32_t *const head = &depot.bins.heads[run->kind - 1][bin];
    invariant(*head != first && (*head != 0) == bin_has(run->kind, bin));
    run->prev = 0;
    run->next = *head;
    if (*head != 0) {
        invariant(arena.runs[*head].kind == run->kind && arena.runs[*head].prev == 0);
        arena.runs[*head].prev = first;
    }
    *head = first;
    depot.bins.occupied[run->kind - 1][bin / 64] |= (uint64_t)1 << (bin % 64);
}

static void bin_unlink(uint32_t first)
{
    const struct run *const run = &arena.runs[first];
    const unsigned bin = bin_of(run->units);
    uint32_t *const head = &depot.bins.heads[run->kind - 1][bin];
    invariant(run->kind != RUN_USED && (run->prev == 0) == (*head == first));
    invariant(bin_has(run->kind, bin));
    invariant(run->prev == 0 || arena.runs[run->prev].next == first);
    *(run->prev == 0 ? head : &arena.runs[run->prev].next) = run->next;
    if (run->next != 0) {
        invariant(arena.runs[run->next].prev == first);
        arena.runs[run->next].prev = run->prev;
    }
    if (*head == 0) {
        depot.bins.occupied[run->kind - 1][bin / 64] &= ~((uint64_t)1 << (bin % 64));
    }
}

/* The first bin at or after `bin` that has runs of the kind; BINS when there is none. */
static unsigned bin_occupied(unsigned kind, unsigned bin)
{
    invariant(kind > RUN_USED && kind < RUN_KINDS);
    for (; bin < BINS; bin = (bin | 63) + 1) {
        const uint64_t occupied = depot.bins.occupied[kind - 1][bin / 64] >> (bin % 64);
        if (occupied != 0) {
            return bin + bit_lowest(occupied);
        }
    }
    return BINS;
}

/* Two lists share their links: dirty runs by age, and long clean runs with tables. A run is on at most one of them. */

static struct run_list *age_list_of(const struct run *run)
{
    if (run->kind == RUN_DIRTY) {
        return &depot.aged;
    }
    const bool waits =
        run->kind == RUN_CLEAN && run->empty.tables_gone == TABLES_THERE && run->units >= RUN_TABLES_UNITS_MIN;
    return waits ? &depot.with_tables : NULL;
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

void run_mark(uint32_t first, uint32_t n, unsigned kind)
{
    invariant(first != 0 && n != 0 && first + n <= load_plain(&arena.committed_units) && kind < RUN_KINDS);
    arena.runs[first].units = n;
    arena.runs[first].kind = kind;
    arena.units[first].first = first;
    arena.units[first + n - 1].first = first;
    counter_add(&depot.units[kind], n);
    counter_add(&depot.short_units, kind == RUN_USED && n <= HUGE_RUN_UNITS ? n : 0);
}

void run_unmark(uint32_t first)
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
static void run_link(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms, uint32_t behind)
{
    invariant(lock_is_held(&depot.lock) && kind != RUN_USED && load_plain(&arena.units[first].tag) == TAG_NONE);
    invariant(kind < RUN_CLEAN || (first == arena_page_up(first) && first + n == arena_page_up(first + n)));
    run_mark(first, n, kind);
    arena.runs[first].empty.dirty_since_ms = since_ms;
    bin_link(first);
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

void run_unlink(uint32_t first)
{
    invariant(lock_is_held(&depot.lock) && arena.runs[first].kind != RUN_USED);
    struct run_list *const list = age_list_of(&arena.runs[first]);
    bin_unlink(first);
    if (list != NULL) {
        age_unlink(list, first);
        age_publish();
    }
    run_unmark(first);
}

void run_lose(uint32_t first, uint32_t n)
{
    invariant(n != 0 && lock_is_held(&depot.lock));
    arena.units[first].first = 0;
    arena.units[first + n - 1].first = 0;
    arena.runs[first].kind = RUN_USED;
    counter_add(&depot_usage.lost_units, n);
}

uint32_t run_place(uint32_t run, uint32_t n, uint32_t align)
{
    const uintptr_t start = round_up((uintptr_t)arena_address(run), (size_t)align << UNIT_SHIFT);
    const size_t before = (start - (uintptr_t)arena_address(run)) >> UNIT_SHIFT;
    const size_t units = arena.runs[run].units;
    return start != 0 && before < units && n <= units - before ? run + (uint32_t)before : 0;
}

/* Finds the shortest of some runs in the first bin that has one. From the bin `surely` on, each run is long enough for
 * the alignment. Of the runs in lower bins, which may be too short or lie badly, the search looks only at some. */
uint32_t run_find(unsigned kind, uint32_t n, uint32_t align)
{
    const unsigned surely = bin_of((uint32_t)min_size((size_t)n + (align - 1), ARENA_UNITS_MOST)) + 1;
    unsigned tries = 0;
    for (unsigned bin = bin_occupied(kind, bin_of(n)); bin < BINS; bin = bin_occupied(kind, bin + 1)) {
        count_step();
        if (bin < surely && tries >= FIT_TRIES_ALL) {
            bin = surely - 1;
            continue;
        }
        uint32_t best = 0, run = bin_first(kind, bin);
        for (unsigned i = 0; run != 0 && i < FIT_TRIES; run = arena.runs[run].next, i++, tries++) {
            count_step();
            const bool fits = bin >= surely || run_place(run, n, align) != 0;
            best = fits && (best == 0 || arena.runs[run].units < arena.runs[best].units) ? run : best;
            if (best != 0 && bin < EXACT_BINS) {
                break;
            }
        }
        if (best != 0) {
            invariant(arena.runs[best].kind == kind && arena.runs[best].units >= n);
            return best;
        }
    }
    return 0;
}

struct purged_lately purged_lately;
struct depot_usage depot_usage;

uint32_t run_count_fresh(uint32_t units)
{
    enum { LATELY_MS = 1000 };
    invariant(lock_is_held(&depot.lock));
    counter_add(&depot.fresh_units, units);
    if (purged_lately.units == 0 || units == 0) {
        return 0;
    }
    if (os_now_ms() - purged_lately.purged_ms > LATELY_MS) {
        purged_lately.units = 0;
    }
    const size_t mistaken = min_size(units, purged_lately.units);
    purged_lately.units -= mistaken;
    counter_add(&purged_lately.mistaken_units, mistaken);
    return (uint32_t)mistaken;
}

void run_count_purged(uint32_t units, uint64_t now_ms)
{
    invariant(lock_is_held(&depot.lock));
    purged_lately.units += units;
    purged_lately.purged_ms = now_ms;
}

uint32_t run_behind(uint32_t behind, unsigned kind)
{
    const bool is = behind < load_plain(&arena.committed_units) && arena.units[behind].first == behind &&
                    arena.runs[behind].kind == kind;
    return is ? behind : 0;
}

uint32_t run_before(uint32_t first, unsigned kind)
{
    const uint32_t before = arena.units[first - 1].first;
    return before != 0 && arena.runs[before].kind == kind ? before : 0;
}

uint32_t run_join(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms)
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
    return first;
}

/* The part of a page that the used units touch is joined last, because its neighbour may be dirty too. */
void run_rest(uint32_t first, uint32_t end, unsigned kind, uint64_t since_ms, uint32_t behind)
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
        (void)run_join(first, from - first, RUN_DIRTY, os_now_ms());
    }
    if (to < end) {
        (void)run_join(to, end - to, RUN_DIRTY, os_now_ms());
    }
}

/* Cuts n units, from `first` on, out of an empty run that has them, and leaves the rest empty. */
static void run_cut_at(uint32_t run, uint32_t first, uint32_t n)
{
    const unsigned kind = arena.runs[run].kind;
    const uint32_t end = run + arena.runs[run].units;
    const uint64_t since_ms = arena.runs[run].empty.dirty_since_ms;
    const uint32_t behind = age_list_of(&arena.runs[run]) == NULL ? AT_END : arena.runs[run].empty.prev;
    invariant(first >= run && first < end && n <= end - first);
    run_unlink(run);
    run_mark(first, n, RUN_USED);
    run_rest(run, first, kind, since_ms, behind);
    run_rest(first + n, end, kind, since_ms, behind);
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == n);
}

uint32_t run_cut(uint32_t run, uint32_t n, uint32_t align)
{
    const uint32_t first = run_place(run, n, align);
    invariant(first != 0);
    run_cut_at(run, first, n);
    return first;
}

/* Rows: neighbouring empty runs of different kinds. */

enum { ROW_RUNS = 8, ROW_TRIES = 8 };

uint32_t row_behind(uint32_t first, uint32_t n)
{
    uint32_t units = 0;
    for (unsigned i = 0; i < ROW_RUNS && units < n && first + units < load_plain(&arena.committed_units); i++) {
        const uint32_t at = first + units;
        if (arena.units[at].first != at || arena.runs[at].kind == RUN_USED) {
            break;
        }
        units += arena.runs[at].units;
        count_step();
    }
    return units;
}

uint32_t row_fresh(uint32_t first, uint32_t n)
{
    uint32_t fresh = 0;
    for (uint32_t at = first, units; at < first + n; at += units) {
        units = (uint32_t)min_size(arena.runs[at].units, first + n - at);
        fresh += arena.runs[at].kind == RUN_CLEAN ? units : 0;
    }
    return fresh;
}

uint32_t row_cut(uint32_t first, uint32_t n)
{
    invariant(lock_is_held(&depot.lock) && n != 0 && row_behind(first, n) >= n);
    const uint32_t fresh = row_fresh(first, n);
    for (uint32_t at = first, left = n; left != 0;) {
        const uint32_t units = (uint32_t)min_size(arena.runs[at].units, left);
        run_cut_at(at, at, units);
        run_unmark(at);
        at += units;
        left -= units;
    }
    run_mark(first, n, RUN_USED);
    invariant(fresh <= n);
    return fresh;
}

/* The first unit of n that are in a row with this dirty run. 0: there are not so many. */
static uint32_t row_of(uint32_t run, uint32_t n)
{
    if (row_behind(run, n) >= n) {
        return run;
    }
    const uint32_t before = run_before(run, RUN_CLEAN);
    return before != 0 && row_behind(before, n) >= n ? before : 0;
}

uint32_t row_find(uint32_t n)
{
    unsigned tries = 0;
    invariant(lock_is_held(&depot.lock) && n > 1);
    for (unsigned bin = bin_of(n / 2); bin <= bin_of(n); bin++) {
        for (uint32_t run = bin_first(RUN_DIRTY, bin); run != 0 && tries < ROW_TRIES; tries++) {
            const uint32_t first = row_of(run, n);
            if (first != 0) {
                return first;
            }
            run = arena.runs[run].next;
        }
    }
    return 0;
}
