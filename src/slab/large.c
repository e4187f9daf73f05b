/* The length of a run follows from large_bytes of its descriptor, by large_units. Setting and clearing the tag is what
 * makes and ends a block. */
#include "slab/large.h"

#include "common/guard.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/hot_runs.h"
#include "slab/samples.h"
#include "slab/slab.h"
#include "space/pages.h"
#include "space/reclaim.h"
#include "space/trap.h"

#include <string.h>

enum {
    MOVE_UNITS_MIN = (256 << 10) / UNIT_BYTES, /* the shortest run whose pages are moved */
    FRESH_UNITS_MIN = (8 << 20) / UNIT_BYTES, /* the shortest that goes to fresh memory though other memory has pages */
    MOVE_SHIFT = 12,                          /* and the fraction of the arena that it is at least */
};

/* Addresses were lost. So that no more are, pages are not moved any more. */
static atomic_bool moves_end;

/* The bytes that the checked library adds to each large run: a page without access behind the usable bytes (trap.h). */
static size_t large_guard_bytes(void)
{
    return GUARDED && os_page_bytes() <= UNIT_BYTES ? os_page_bytes() : 0;
}

static uint32_t whole_units(size_t bytes)
{
    return bytes > (size_t)UINT32_MAX << UNIT_SHIFT ? 0 : (uint32_t)((bytes + UNIT_BYTES - 1) >> UNIT_SHIFT);
}

uint32_t large_units(size_t bytes)
{
    return whole_units(bytes + large_guard_bytes());
}

/* The usable bytes of such a run: whole pages, but never beyond the run, since pages may be larger than units. */
static size_t usable_bytes(size_t bytes)
{
    return min_size(round_up(bytes, os_page_bytes()), (size_t)large_units(bytes) << UNIT_SHIFT);
}

/* The descriptor of the large run that starts at p, or NULL. */
static struct run *large_at(const void *p)
{
    const size_t unit = arena_unit(p);
    if (!arena_has_unit(unit) || (uintptr_t)p % UNIT_BYTES != arena.base % UNIT_BYTES ||
        load_plain(&arena.units[unit].tag) != TAG_LARGE) {
        return NULL;
    }
    return &arena.runs[unit];
}

/* Asserts of a used run that the caller owns that it has this many units and this tag. */
static inline void large_check(uint32_t first, uint32_t units, uint32_t tag)
{
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == units);
    invariant(load_plain(&arena.units[first].tag) == tag);
}

/* The bytes behind the usable ones of a run: the guard page, and perhaps more. */
static char *large_guard_of(uint32_t first, size_t *bytes)
{
    const size_t usable = arena.runs[first].large_bytes;
    *bytes = ((size_t)large_units(usable) << UNIT_SHIFT) - usable;
    return arena_address(first) + usable;
}

/* Takes the access to them away, unless there are too many guards or the kernel refuses. */
/* uncounted: only the checked libraries call it */
static void large_raise_guard(uint32_t first)
{
    size_t bytes;
    char *const guard = large_guard_of(first, &bytes);
    if (large_guard_bytes() != 0 && guard_count_up()) {
        arena.runs[first].is_guarded = true;
        if (!os_forbid(guard, bytes)) {
            guard_count_down(first);
        }
    }
}

/* Gives the access to them back. False when the kernel has no memory for that. */
/* uncounted: only the checked libraries call it */
static bool large_lower_guard(uint32_t first)
{
    size_t bytes;
    char *const guard = large_guard_of(first, &bytes);
    if (large_guard_bytes() != 0 && !os_commit(guard, bytes)) {
        return false;
    }
    guard_count_down(first);
    return true;
}

/* Makes a run that the caller took a large block. */
static void *large_open(uint32_t first, size_t bytes)
{
    large_check(first, large_units(bytes), TAG_NONE);
    invariant(usable_bytes(bytes) >= bytes);
    owned_store(&arena.runs[first].large_bytes, usable_bytes(bytes));
    if (GUARDED) {
        large_raise_guard(first);
    }
    store_relaxed(&arena.units[first].tag, TAG_LARGE);
    return arena_address(first);
}

void *large_alloc(uint32_t epoch, size_t bytes, size_t alignment, bool *zero)
{
    invariant(bytes != 0 && bytes <= PTRDIFF_MAX && is_power_of_two(alignment));
    const uint32_t units = large_units(bytes);
    const uint32_t align = whole_units(max_size(alignment, UNIT_BYTES));
    uint32_t first = 0;
    bool clean;
    if (units != 0 && align != 0 && align <= UINT32_MAX - units) {
        first = run_alloc(units, align, &clean);
    }
    if (first == 0) {
        return NULL;
    }
    *zero = clean;
    invariant(word_state(load_plain(&arena.runs[first].word)) == SLAB_EMPTY);
    if (epoch != 0) {
        store_relaxed(&arena.runs[first].word, slab_word(SLAB_ATTACHED, CLASS_NONE, epoch));
    }
    pages_touch_units(first, units);
    return large_open(first, bytes);
}

uint32_t large_epoch(const void *p)
{
    const struct run *run = large_at(p);
    const uint32_t word = run == NULL ? 0 : load_plain(&run->word);
    return word_state(word) == SLAB_ATTACHED ? word_epoch(word) : 0;
}

void *large_alloc_hot(struct hot_runs *hot, size_t bytes, size_t alignment)
{
    const uint32_t wanted = large_units(bytes);
    uint32_t units = wanted;
    const uint32_t first = hot_runs_take(hot, &units, alignment);
    invariant(first == 0 || units >= wanted);
    /* The block of a longer run has all of it. */
    return first == 0 ? NULL : large_open(first, units == wanted ? bytes : (size_t)units << UNIT_SHIFT);
}

void large_clear(void *p, size_t bytes)
{
    enum { SPARSE_BYTES = 8 << 20 };
    const struct run *const run = large_at(p);
    char *const start = p, *const end = start + bytes;
    char *const from = (char *)round_up((uintptr_t)start, os_page_bytes());
    char *const to = (char *)round_down((uintptr_t)end, os_page_bytes());
    invariant(run != NULL && bytes <= run->large_bytes);
    if (bytes < SPARSE_BYTES || !reclaim_pages(from, (size_t)(to - from))) {
        memset(p, 0, bytes);
        return;
    }
    pages_touch(from, to);
    memset(start, 0, (size_t)(from - start));
    memset(to, 0, (size_t)(end - to));
}

bool large_free_hot(struct hot_runs *hot, void *p, uint32_t most)
{
    const struct run *run = large_at(p);
    if (run == NULL || GUARDED) {
        return false;
    }
    /* Without its tag it is no block any more. If there is no room for it, it becomes one again. */
    const uint32_t first = run_index(run);
    const size_t bytes = run->large_bytes;
    invariant(bytes != 0);
    large_check(first, large_units(bytes), TAG_LARGE);
    store_relaxed(&arena.units[first].tag, TAG_NONE);
    const bool kept = hot_runs_put(hot, first, large_units(bytes), most);
    if (!kept) {
        store_relaxed(&arena.units[first].tag, TAG_LARGE);
    }
    return kept;
}

size_t large_usable(const void *p)
{
    const struct run *run = large_at(p);
    return run != NULL ? run->large_bytes : 0;
}

void large_retire(uint32_t first, uint32_t units)
{
    large_check(first, units, TAG_NONE);
    if (GUARDED) {
        trap_run(first, units);
    } else {
        depot_put(first, units, false);
    }
}

bool large_free(struct hot_runs *hot, void *p, uint32_t most)
{
    const struct run *run = large_at(p);
    if (run == NULL) {
        return false;
    }
    const uint32_t first = run_index(run);
    const uint32_t units = large_units(run->large_bytes);
    large_check(first, units, TAG_LARGE);
    invariant(word_state(load_plain(&run->word)) == SLAB_EMPTY);
    store_relaxed(&arena.units[first].tag, TAG_NONE);
    if (!GUARDED && units <= HOT_RUN_UNITS) {
        hot_runs_make_room(hot, units, most);
        if (hot_runs_put(hot, first, units, most)) {
            return true;
        }
    }
    large_retire(first, units);
    return true;
}

/* Whether to move the pages of a block of so many units rather than copy its contents. The kernel joins a mapping that
 * was moved with no neighbour, and a move leaves a gap, so a large arena moves larger blocks. */
static bool move_pays(uint32_t first, uint32_t units)
{
    const size_t least = max_size(MOVE_UNITS_MIN, load_plain(&arena.committed_units) >> MOVE_SHIFT);
    return TSLAB_MOVES && !GUARDED && units >= least && !load_plain(&moves_end) && !reclaim_is_refused() &&
           arena_page_up(first) == first && arena_page_up(first + units) == first + units;
}

static void lose(uint32_t first, uint32_t units)
{
    store_plain(&moves_end, true);
    depot_lose(first, units);
}

void *large_move(void *p, size_t bytes)
{
    struct run *const run = large_at(p);
    const uint32_t wanted = large_units(bytes);
    const uint32_t units = run == NULL ? 0 : large_units(run->large_bytes);
    if (wanted == 0 || units == 0 || units > wanted || !move_pays(run_index(run), units)) {
        return NULL;
    }
    const uint32_t first = run_index(run);
    bool clean = false;
    const uint32_t fresh = units < FRESH_UNITS_MIN ? 0 : depot_take_fresh(wanted, arena_page_up(1));
    const uint32_t target = fresh != 0 ? fresh : run_alloc(wanted, arena_page_up(1), &clean);
    clean |= fresh != 0;
    large_check(first, units, TAG_LARGE);
    invariant(word_state(load_plain(&run->word)) == SLAB_EMPTY && units <= wanted && first != target);
    if (target == 0) {
        return NULL;
    }
    pages_touch_units(target, wanted); /* also where the kernel fails midway */
    if (clean && samples_are_on()) {
        samples_end((uintptr_t)p); /* before another thread may have the place */
    }
    const enum os_moved moved =
        clean ? os_move(p, (size_t)units << UNIT_SHIFT, arena_address(target), (size_t)wanted << UNIT_SHIFT)
              : OS_NOT_MOVED;
    if (moved == OS_TARGET_LOST) {
        lose(target, wanted);
    } else if (moved == OS_NOT_MOVED) {
        depot_put(target, wanted, false);
    }
    if (moved != OS_MOVED) {
        return NULL;
    }
    store_relaxed(&arena.units[first].tag, TAG_NONE);
    invariant(first != target && arena.runs[target].units == wanted);
    pages_set(p, (const char *)p + ((size_t)units << UNIT_SHIFT), false);
    /* New memory, without what the program may have set for the old. Beside other empty memory it serves long runs. */
    if (arena_remap(first, units)) {
        depot_put(first, units, true);
    } else {
        lose(first, units);
    }
    return large_open(target, bytes);
}

bool large_resize(void *p, size_t bytes)
{
    struct run *run = large_at(p);
    const uint32_t wanted = large_units(bytes);
    if (run == NULL || wanted == 0) {
        return false;
    }
    const uint32_t first = run_index(run);
    const uint32_t units = large_units(run->large_bytes);
    large_check(first, units, TAG_LARGE);
    if (wanted == units && !GUARDED) {
        owned_store(&run->large_bytes, usable_bytes(bytes));
        return true;
    }
    bool clean;
    if (GUARDED && !large_lower_guard(first)) {
        return false;
    }
    const bool fits = wanted <= units || depot_grow(first, units, wanted, &clean);
    if (wanted < units) {
        if (GUARDED) {
            guard_wipe(arena_address(first + wanted), (size_t)(units - wanted) << UNIT_SHIFT);
        }
        depot_trim(first, units, wanted);
        reclaim_tick(); /* much may have become free, and it may be the program's last free for a while */
    }
    if (wanted > units && fits) {
        pages_touch_units(first + units, wanted - units);
    }
    if (fits) {
        owned_store(&run->large_bytes, usable_bytes(bytes));
        large_check(first, wanted, TAG_LARGE);
        invariant(run->large_bytes >= bytes);
    }
    if (GUARDED) {
        large_raise_guard(first);
    }
    return fits;
}
