#include "core/depot.h"

#include "base/fatal.h"
#include "os/os.h"

/* In place of a time, of a clean run whose part of the side tables has no pages. What merges has them again. */
enum { SWEPT = 1 };

enum {
    EXACT_BINS = 32, /* a bin for each length up to here, then four a doubling */
    EXACT_SHIFT = 5,
    FIT_TRIES = 8, /* runs of the wanted bin that are looked at before a larger bin serves */
};

struct depot depot = { .lock = LOCK_INIT(RANK_DEPOT) };

/* The bin that a run of n units waits in. */
static unsigned bin_of(uint32_t n)
{
    if (n <= EXACT_BINS) {
        return n - 1;
    }
    const unsigned log = bit_highest(n);
    return EXACT_BINS + ((log - EXACT_SHIFT) << 2) + ((n >> (log - 2)) & 3);
}

static uint32_t *bin_head(unsigned kind, unsigned bin)
{
    return &depot.bins[kind - RUN_DIRTY][bin];
}

static void run_mark(uint32_t first, uint32_t n, unsigned kind)
{
    arena.slabs[first].units = n;
    arena.slabs[first].kind = kind;
    arena.units[first].first = first;
    arena.units[first + n - 1].first = first;
    atomic_size_t *count = kind == RUN_DIRTY   ? &depot.dirty_units
                           : kind == RUN_CLEAN ? &depot.clean_units
                                               : &depot.used_units;
    stat_add(count, n);
}

static void run_unmark(uint32_t first)
{
    const struct slab *run = &arena.slabs[first];
    atomic_size_t *count = run->kind == RUN_DIRTY   ? &depot.dirty_units
                           : run->kind == RUN_CLEAN ? &depot.clean_units
                                                    : &depot.used_units;
    stat_set(count, stat_get(count) - run->units);
}

static void age_publish(void)
{
    stat_set(&depot.oldest_ms, depot.age_head == 0 ? UINT64_MAX : arena.slabs[depot.age_head].dirty_since_ms);
}

static void age_link(uint32_t first, uint64_t since_ms)
{
    struct slab *run = &arena.slabs[first];
    run->dirty_since_ms = since_ms;
    /* Almost always at the young end; the rest of a run that was split keeps its older place. */
    uint32_t before = depot.age_tail;
    while (before != 0 && arena.slabs[before].dirty_since_ms > since_ms) {
        before = arena.slabs[before].age_prev;
    }
    run->age_prev = before;
    run->age_next = before == 0 ? depot.age_head : arena.slabs[before].age_next;
    *(before == 0 ? &depot.age_head : &arena.slabs[before].age_next) = first;
    *(run->age_next == 0 ? &depot.age_tail : &arena.slabs[run->age_next].age_prev) = first;
    age_publish();
}

static void age_unlink(uint32_t first)
{
    const struct slab *run = &arena.slabs[first];
    *(run->age_prev == 0 ? &depot.age_head : &arena.slabs[run->age_prev].age_next) = run->age_next;
    *(run->age_next == 0 ? &depot.age_tail : &arena.slabs[run->age_next].age_prev) = run->age_prev;
    age_publish();
}

static void run_link(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms)
{
    run_mark(first, n, kind);
    const unsigned bin = bin_of(n);
    uint32_t *head = bin_head(kind, bin);
    struct slab *run = &arena.slabs[first];
    run->prev = 0;
    run->next = *head;
    if (*head != 0) {
        arena.slabs[*head].prev = first;
    }
    *head = first;
    depot.occupied[kind - RUN_DIRTY][bin / 64] |= (uint64_t)1 << (bin % 64);
    if (kind == RUN_DIRTY) {
        age_link(first, since_ms);
    } else {
        run->dirty_since_ms = since_ms; /* SWEPT or 0 */
    }
}

static void run_unlink(uint32_t first)
{
    const struct slab *run = &arena.slabs[first];
    const unsigned bin = bin_of(run->units);
    uint32_t *head = bin_head(run->kind, bin);
    if (run->prev == 0) {
        *head = run->next;
        if (run->next == 0) {
            depot.occupied[run->kind - RUN_DIRTY][bin / 64] &= ~((uint64_t)1 << (bin % 64));
        }
    } else {
        arena.slabs[run->prev].next = run->next;
    }
    if (run->next != 0) {
        arena.slabs[run->next].prev = run->prev;
    }
    if (run->kind == RUN_DIRTY) {
        age_unlink(first);
    }
    run_unmark(first);
}

/* A run of at least n units of the kind, still linked; 0 when there is none. */
static uint32_t run_find(unsigned kind, uint32_t n)
{
    unsigned bin = bin_of(n);
    unsigned tries = 0;
    for (uint32_t run = *bin_head(kind, bin); run != 0 && tries < FIT_TRIES; run = arena.slabs[run].next, tries++) {
        if (arena.slabs[run].units >= n) {
            return run;
        }
    }
    /* Every run of a higher bin is long enough. */
    for (bin++; bin < DEPOT_BINS; bin = (bin | 63) + 1) {
        const uint64_t occupied = depot.occupied[kind - RUN_DIRTY][bin / 64] >> (bin % 64);
        if (occupied != 0) {
            return *bin_head(kind, bin + bit_lowest(occupied));
        }
    }
    return 0;
}

/* Links an empty run, merged with empty neighbours of the same kind. */
static void run_join(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms)
{
    const uint32_t behind = first + n;
    const bool clean = kind == RUN_CLEAN;
    if (behind < arena.used_units && arena.slabs[behind].kind == kind) {
        n += arena.slabs[behind].units;
        since_ms = clean ? min_size(since_ms, arena.slabs[behind].dirty_since_ms) : since_ms;
        run_unlink(behind);
    }
    const uint32_t before = first == 1 ? 0 : arena.units[first - 1].first;
    if (before != 0 && arena.slabs[before].kind == kind) {
        n += arena.slabs[before].units;
        since_ms = clean ? min_size(since_ms, arena.slabs[before].dirty_since_ms) : since_ms;
        run_unlink(before);
        first = before;
    }
    run_link(first, n, kind, since_ms);
}

/* Pages may have several units: the first unit at or after this one that starts a page, and the one at or before it. */
static uint32_t page_units(void)
{
    return (uint32_t)max_size(os_page_bytes() >> UNIT_SHIFT, 1);
}

static uint32_t page_up(uint32_t unit)
{
    return (uint32_t)round_up(unit - 1, page_units()) + 1;
}

static uint32_t page_down(uint32_t unit)
{
    return (uint32_t)round_down(unit - 1, page_units()) + 1;
}

/* Leaves the units from first to end empty: what is left of an empty run that was cut. Of a clean one, the part of the
 * page that the used units touch is dirty. That part is joined last: its neighbour may be dirty too. */
static void run_rest(uint32_t first, uint32_t end, unsigned kind, uint64_t since_ms)
{
    if (first == end) {
        return;
    }
    const uint32_t from = kind == RUN_CLEAN ? page_up(first) : first;
    const uint32_t to = kind == RUN_CLEAN ? page_down(end) : end;
    if (from < to) {
        run_link(from, to - from, kind, since_ms);
    }
    if (first < from) {
        run_join(first, from - first, RUN_DIRTY, os_now_ms());
    }
    if (to < end) {
        run_join(to, end - to, RUN_DIRTY, os_now_ms());
    }
}

/* Cuts n aligned units out of an empty run and leaves the rest empty. */
static uint32_t run_cut(uint32_t run, uint32_t n, uint32_t align)
{
    const unsigned kind = arena.slabs[run].kind;
    const uint32_t end = run + arena.slabs[run].units;
    const uint64_t since_ms = arena.slabs[run].dirty_since_ms;
    const uintptr_t start = round_up((uintptr_t)arena_address(run), (size_t)align << UNIT_SHIFT);
    const uint32_t first = (uint32_t)arena_unit((void *)start);
    run_unlink(run);
    run_mark(first, n, RUN_USED);
    run_rest(run, first, kind, since_ms);
    run_rest(first + n, end, kind, since_ms);
    return first;
}

static uint32_t depot_extend_arena(uint32_t n, uint32_t align)
{
    uint32_t gap;
    const uint32_t top = (uint32_t)arena.used_units;
    const uint32_t whole = (uint32_t)round_up(n, page_units());
    const uint32_t first = arena_extend(whole, align, &gap);
    if (first == 0) {
        return 0;
    }
    run_mark(first, n, RUN_USED);
    if (gap > 0) {
        run_join(top, gap, RUN_CLEAN, 0);
    }
    run_rest(first + n, first + whole, RUN_CLEAN, 0);
    return first;
}

uint32_t depot_take(uint32_t n, uint32_t align, bool *clean)
{
    if (n >= arena.reserved_units || align >= arena.reserved_units) {
        return 0;
    }
    /* Any run this long has n aligned units in it. */
    const uint32_t fit = n + (align - 1);
    lock_acquire(&depot.lock);
    uint32_t first = run_find(RUN_DIRTY, fit);
    *clean = first == 0;
    if (first == 0) {
        first = run_find(RUN_CLEAN, fit);
        stat_add(&depot.fresh_units, n);
    }
    first = first != 0 ? run_cut(first, n, align) : depot_extend_arena(n, align);
    lock_release(&depot.lock);
    return first;
}

void depot_put(uint32_t first, uint32_t n, bool clean)
{
    const uint64_t now_ms = clean ? 0 : os_now_ms();
    lock_acquire(&depot.lock);
    invariant(arena.slabs[first].kind == RUN_USED && arena.slabs[first].units == n);
    run_unmark(first);
    run_join(first, n, clean ? RUN_CLEAN : RUN_DIRTY, now_ms);
    lock_release(&depot.lock);
}

bool depot_grow(uint32_t first, uint32_t n, uint32_t wanted, bool *clean)
{
    const uint32_t behind = first + n;
    const uint32_t more = wanted - n;
    bool grown = false;
    lock_acquire(&depot.lock);
    if (behind == arena.used_units) {
        grown = depot_extend_arena(more, 1) != 0;
        *clean = true;
    } else if (arena.slabs[behind].kind != RUN_USED && arena.slabs[behind].units >= more) {
        *clean = arena.slabs[behind].kind == RUN_CLEAN;
        (void)run_cut(behind, more, 1);
        grown = true;
    }
    if (grown) {
        run_unmark(behind);
        run_unmark(first);
        run_mark(first, wanted, RUN_USED);
    }
    lock_release(&depot.lock);
    return grown;
}

void depot_trim(uint32_t first, uint32_t n, uint32_t keep)
{
    const uint64_t now_ms = os_now_ms();
    lock_acquire(&depot.lock);
    run_unmark(first);
    run_mark(first, keep, RUN_USED);
    run_join(first + keep, n - keep, RUN_DIRTY, now_ms);
    lock_release(&depot.lock);
}

uint32_t depot_take_oldest(uint64_t before_ms, size_t dirty_limit, uint32_t max_units, uint32_t *n)
{
    lock_acquire(&depot.lock);
    uint32_t first = depot.age_head;
    if (first != 0 && (arena.slabs[first].dirty_since_ms < before_ms || stat_get(&depot.dirty_units) > dirty_limit)) {
        const uint32_t units = arena.slabs[first].units;
        const uint32_t whole = page_down(first + max_units);
        *n = units <= max_units ? units : whole > first ? whole - first : max_units;
        first = run_cut(first, *n, 1);
        depot.purging_units += *n;
    } else {
        first = 0;
    }
    lock_release(&depot.lock);
    return first;
}

uint32_t depot_take_unswept(uint32_t min_units, uint32_t *n)
{
    uint32_t first = 0;
    lock_acquire(&depot.lock);
    for (unsigned bin = bin_of(min_units); bin < DEPOT_BINS && first == 0; bin++) {
        for (uint32_t run = *bin_head(RUN_CLEAN, bin); run != 0 && first == 0; run = arena.slabs[run].next) {
            if (arena.slabs[run].units >= min_units && arena.slabs[run].dirty_since_ms != SWEPT) {
                first = run;
            }
        }
    }
    if (first != 0) {
        *n = arena.slabs[first].units;
        first = run_cut(first, *n, 1);
        depot.purging_units += *n;
    }
    lock_release(&depot.lock);
    return first;
}

/* From a purger. */
static void put_back(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms)
{
    lock_acquire(&depot.lock);
    depot.purging_units -= n;
    run_unmark(first);
    run_join(first, n, kind, since_ms);
    lock_release(&depot.lock);
}

void depot_put_purged(uint32_t first, uint32_t n, bool purged)
{
    if (!purged) {
        put_back(first, n, RUN_DIRTY, os_now_ms());
        return;
    }
    const uint32_t end = first + n;
    const uint32_t from = page_up(first);
    const uint32_t to = page_down(end);
    const uint64_t now_ms = from == first && to == end ? 0 : os_now_ms();
    lock_acquire(&depot.lock);
    depot.purging_units -= n;
    run_unmark(first);
    run_mark(from, to - from, RUN_USED);
    if (first < from) {
        run_join(first, from - first, RUN_DIRTY, now_ms);
    }
    if (to < end) {
        run_join(to, end - to, RUN_DIRTY, now_ms);
    }
    run_unmark(from);
    run_join(from, to - from, RUN_CLEAN, 0);
    lock_release(&depot.lock);
}

void depot_put_swept(uint32_t first, uint32_t n)
{
    put_back(first, n, RUN_CLEAN, SWEPT);
}

size_t depot_empty_units(void)
{
    lock_acquire(&depot.lock);
    const size_t units = stat_get(&depot.dirty_units) + stat_get(&depot.clean_units) + depot.purging_units;
    lock_release(&depot.lock);
    return units;
}

uint32_t hot_take(struct hot_runs *hot, uint32_t n)
{
    hot->touched = true;
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        const uint32_t first = stat_get(&hot->first[i]);
        if (first != 0 && hot->units[i] == n) {
            store_relaxed(&hot->first[i], 0);
            store_relaxed(&hot->total, stat_get(&hot->total) - n);
            return first;
        }
    }
    return 0;
}

bool hot_put(struct hot_runs *hot, uint32_t first, uint32_t n)
{
    hot->touched = true;
    if (n > HOT_RUN_UNITS || stat_get(&hot->total) + n > HOT_UNITS) {
        return false;
    }
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        if (stat_get(&hot->first[i]) == 0) {
            hot->units[i] = n;
            store_relaxed(&hot->total, stat_get(&hot->total) + n);
            store_release(&hot->first[i], first);
            return true;
        }
    }
    return false;
}

void hot_flush(struct hot_runs *hot)
{
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        const uint32_t first = stat_get(&hot->first[i]);
        if (first != 0) {
            store_relaxed(&hot->first[i], 0);
            depot_put(first, hot->units[i], false);
        }
    }
    stat_set(&hot->total, 0);
}
