/* A sweep goes through the classes in order, and through the slabs that each had when the sweep reached it. Its state
 * is a class and a count. */
#include "core/holes.h"

#include "core/depot.h"
#include "core/reclaim.h"
#include "os/fatal.h"
#include "os/os.h"

enum {
    GROWTH_UNITS = (1 << 20) / UNIT_BYTES, /* the least growth after which a sweep begins */
    GROWTH_SHIFT = 5,                      /* the growth, as a fraction of the units in use, after which it begins */
    FREED_PAGES = 2,                       /* pages freed in a slab since its last purge that make a new one worth it */
};

/* The state of the sweep. It is written under the lock. Any thread may read the atomic fields. */
static struct {
    struct lock lock;
    atomic_u64 fresh_units; /* depot.fresh_units when the last sweep began */
    atomic_u32 class;       /* the class that the sweep has reached; CLASS_NONE: no sweep is under way */
    uint32_t left;          /* slabs of that class that are still to be looked at */
} sweep = { .lock = LOCK_INIT(RANK_SWEEP) };

/* Gives back the pages that lie wholly between two addresses, and adds their bytes to *purged. False when the kernel
 * refuses. */
static bool purge_between(char *start, char *end, size_t *purged)
{
    invariant(start < end);
    const size_t page = os_page_bytes();
    char *const from = (char *)round_up((uintptr_t)start, page);
    char *const to = (char *)round_down((uintptr_t)end, page);
    if (to <= from) {
        return true;
    }
    const bool done = reclaim_pages(from, (size_t)(to - from));
    *purged += done ? (size_t)(to - from) : 0;
    return done;
}

static bool is_taken(const uint64_t *taken, unsigned slot)
{
    return (taken[slot / WORD_SLOTS] >> (slot % WORD_SLOTS) & 1) != 0;
}

/* Purges the free pages of a slab that the caller holds attached, and detaches it. Returns the bytes given back. */
static size_t purge_slab(struct run *slab)
{
    const unsigned class = word_class(load_plain(&slab->word));
    const struct class_geometry *geometry = &class_geometry[class];
    char *const start = arena_address(run_index(slab));
    invariant(lock_is_held(&sweep.lock) && word_state(load_plain(&slab->word)) == SLAB_ATTACHED);
    uint64_t taken[BITMAP_WORDS] = { 0 };
    uint32_t free_slots = 0;
    size_t purged = 0;
    bool done = true;
    for (unsigned w = 0; w < geometry->words; w++) {
        taken[w] = slab_take(slab, geometry, w);
        free_slots += bit_count(taken[w]);
    }
    invariant(free_slots <= geometry->slots);
    for (unsigned slot = 0; slot < geometry->slots;) {
        unsigned end = slot;
        while (end < geometry->slots && is_taken(taken, end)) {
            end++;
        }
        if (end > slot) {
            done &= purge_between(start + (size_t)slot * geometry->size, start + (size_t)end * geometry->size, &purged);
        }
        slot = end + 1;
    }
    for (unsigned w = 0; w < geometry->words; w++) {
        if (taken[w] != 0) {
            (void)slab_give(slab, geometry, w, taken[w]); /* no thread has to look at an attached slab */
        }
    }
    owned_store(&slab->purged_slots, done ? free_slots : 0);
    if (!done) {
        reclaim_pause();
    }
    partial_detach(slab);
    return purged;
}

static void sweep_class(struct epoch *epoch, unsigned class)
{
    invariant(lock_is_held(&sweep.lock) && class < CLASS_LIMIT);
    store_plain(&sweep.class, class);
    sweep.left = class == CLASS_NONE ? 0 : counter_get(&epoch_partials(epoch)[class].length);
}

static void sweep_begin(struct epoch *epoch)
{
    store_plain(&sweep.fresh_units, counter_get(&depot.fresh_units));
    sweep_class(epoch, CLASS_NONE + 1);
}

/* Looks at the next slab of the sweep. Purges it if at least min_bytes were freed in it since its last purge. Returns
 * the bytes given back. */
static size_t sweep_next(struct epoch *epoch, size_t min_bytes)
{
    unsigned class;
    while (class = load_plain(&sweep.class), class != CLASS_NONE && sweep.left == 0) {
        sweep_class(epoch, class + 1 < CLASS_LIMIT ? class + 1 : CLASS_NONE);
    }
    if (class == CLASS_NONE) {
        return 0;
    }
    sweep.left--;
    struct run *slab = partial_attach_unpurged(&epoch_partials(epoch)[class], min_bytes);
    return slab == NULL ? 0 : purge_slab(slab);
}

static bool sweep_is_due(void)
{
    const uint64_t grown = counter_get(&depot.fresh_units) - load_plain(&sweep.fresh_units);
    return grown > max_size(GROWTH_UNITS, counter_get(&depot.units[RUN_USED]) >> GROWTH_SHIFT);
}

void holes_tick(struct epoch *epoch)
{
    if (likely(load_plain(&sweep.class) == CLASS_NONE && !sweep_is_due()) || reclaim_is_refused()) {
        return;
    }
    if (!lock_try(&sweep.lock)) {
        return;
    }
    if (load_plain(&sweep.class) == CLASS_NONE && sweep_is_due()) {
        sweep_begin(epoch);
    }
    for (unsigned i = 0; i < SWEEP_STEP_SLABS && load_plain(&sweep.class) != CLASS_NONE; i++) {
        (void)sweep_next(epoch, FREED_PAGES * os_page_bytes());
    }
    lock_release(&sweep.lock);
}

bool holes_step(struct epoch *epoch, bool begins)
{
    lock_acquire(&sweep.lock);
    if (begins) {
        sweep_begin(epoch);
    }
    for (unsigned i = 0; i < SWEEP_STEP_SLABS && load_plain(&sweep.class) != CLASS_NONE; i++) {
        (void)sweep_next(epoch, FREED_PAGES * os_page_bytes());
    }
    invariant(load_plain(&sweep.class) < CLASS_LIMIT);
    const bool goes_on = load_plain(&sweep.class) != CLASS_NONE && !reclaim_is_refused();
    lock_release(&sweep.lock);
    return goes_on;
}

size_t holes_purge_all(struct epoch *epoch)
{
    size_t purged = 0;
    lock_acquire(&sweep.lock);
    sweep_begin(epoch);
    while (load_plain(&sweep.class) != CLASS_NONE) {
        purged += sweep_next(epoch, os_page_bytes());
    }
    lock_release(&sweep.lock);
    return purged;
}
