/* A sweep goes through the epochs, through the classes of each, and through the slabs that each class had when the
 * sweep reached it. Its state is an epoch, a class and a count. */
#include "slab/holes.h"

#include "common/trace.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/pages.h"
#include "space/reclaim.h"

enum {
    GROWTH_UNITS = (1 << 20) / UNIT_BYTES, /* the least growth after which a sweep begins */
    GROWTH_SHIFT = 5,                      /* the growth, as a fraction of the units in use, after which it begins */
    LOOK_SHIFT = 10, /* a sweep looks at one more slab for so many bytes of slots that went back meanwhile */
};

/* The state of the sweep. It is written under the lock. Any thread may read the atomic fields. */
static struct {
    struct lock lock;
    atomic_u64 fresh_units; /* depot.fresh_units when the last sweep began */
    atomic_size_t out_most; /* the most of depot_usage.out_bytes since then */
    atomic_size_t out_last; /* what it was at the end of the last operation */
    atomic_u32 is_on;       /* 1: a sweep is under way */
    bool each_page;         /* it purges each free page, also where that is not worth a call */
    struct epoch *epoch;    /* the epoch and the class that it has reached */
    unsigned class;
    uint32_t next_epoch; /* where epoch_next goes on */
    uint32_t left;       /* slabs of that class that are still to be looked at */
} sweep = { .lock = LOCK_INIT(RANK_SWEEP) };

/* Gives the free pages of a row of free slots back, and adds their bytes to *purged. False when the kernel refuses. */
static bool purge_row(struct run *slab, const struct class_geometry *geometry, const struct slot_row *row,
                      size_t *purged)
{
    char *from, *to;
    const size_t there = slot_row_narrow(slab, geometry, row, &from, &to);
    invariant(lock_is_held(&sweep.lock) && word_state(load_plain(&slab->word)) == SLAB_ATTACHED);
    if (there == 0) {
        return true;
    }
    const bool done = reclaim_pages(from, (size_t)(to - from));
    *purged += done ? there : 0;
    return done;
}

/* Purges the free pages of a slab that the caller holds attached, and detaches it. Returns the bytes given back. */
static size_t purge_slab(struct run *slab)
{
    const struct class_geometry *geometry = &class_geometry[word_class(load_plain(&slab->word))];
    struct slot_set taken = { .word = { 0 } };
    size_t purged = 0;
    bool done = true;
    for (unsigned w = 0; w < geometry->words; w++) {
        taken.word[w] = slab_take(slab, geometry, w);
    }
    for (struct slot_row row = { .end = 0 }; slot_set_next_row(&taken, geometry, &row);) {
        done &= purge_row(slab, geometry, &row, &purged);
    }
    for (unsigned w = 0; w < geometry->words; w++) {
        if (taken.word[w] != 0) {
            (void)slab_give(slab, geometry, w, taken.word[w]); /* no thread has to look at an attached slab */
        }
    }
    if (!done) {
        reclaim_pause();
    }
    limit_count_gone(slab);
    partial_detach(slab);
    return purged;
}

/* Goes on to a class of an epoch; of NULL: the sweep has ended. */
static void sweep_class(struct epoch *epoch, unsigned class)
{
    const struct partial_list *const partials = epoch == NULL ? NULL : epoch_partials(epoch);
    invariant(lock_is_held(&sweep.lock) && class < CLASS_LIMIT);
    sweep.epoch = epoch;
    sweep.class = partials == NULL ? CLASS_LIMIT - 1 : class;
    sweep.left = partials == NULL ? 0 : counter_get(&partials[class].length);
    store_plain(&sweep.is_on, epoch != NULL);
}

/* The process comes first. */
static void sweep_begin(bool each_page)
{
    store_plain(&sweep.fresh_units, counter_get(&depot.fresh_units));
    store_plain(&sweep.out_most, depot_out_bytes());
    sweep.each_page = each_page;
    sweep.next_epoch = 0;
    sweep_class(&epoch_process, CLASS_NONE + 1);
}

/* Pins chunks of an epoch in which objects died. Returns how many. */
static unsigned pin_chunks(struct epoch *epoch, uint32_t chunks[SWEEP_STEP_SLABS])
{
    unsigned n = 0;
    lock_acquire(epoch_lock(epoch));
    for (uint32_t run = epoch->runs; run != 0 && n < SWEEP_STEP_SLABS; run = arena.runs[run].of_epoch.next) {
        if (unit_tag(run) == TAG_CHUNK && chunk_pin(run)) {
            chunks[n++] = run;
        }
    }
    lock_release(epoch_lock(epoch));
    invariant(n <= SWEEP_STEP_SLABS && epoch != &epoch_process);
    return n;
}

/* Purges some chunks of an epoch. Adds the bytes given back to *purged. Returns whether there may be more of them. */
static bool purge_chunks(struct epoch *epoch, size_t *purged)
{
    uint32_t chunks[SWEEP_STEP_SLABS];
    const unsigned n = epoch == &epoch_process ? 0 : pin_chunks(epoch, chunks);
    invariant(lock_is_held(&sweep.lock));
    for (unsigned i = 0; i < n; i++) {
        *purged += chunk_purge(chunks[i]);
        limit_count_gone(&arena.runs[chunks[i]]);
        if (chunk_unpin(chunks[i])) {
            epoch_recycle_chunk(epoch, chunks[i]);
        }
    }
    return n == SWEEP_STEP_SLABS;
}

/* Looks at the next slab of the sweep, which is under way, or, behind the last one of an epoch, at its chunks. Returns
 * the bytes given back. */
static size_t sweep_look(void)
{
    size_t purged = 0;
    invariant(lock_is_held(&sweep.lock) && load_plain(&sweep.is_on) != 0);
    while (sweep.left == 0 && sweep.class + 1 < CLASS_LIMIT) {
        sweep_class(sweep.epoch, sweep.class + 1);
    }
    if (sweep.left == 0) {
        if (!purge_chunks(sweep.epoch, &purged)) {
            sweep_class(epoch_next(&sweep.next_epoch), CLASS_NONE + 1);
        }
        return purged;
    }
    sweep.left--;
    struct run *slab = partial_attach_unpurged(&epoch_partials(sweep.epoch)[sweep.class], sweep.each_page);
    return slab == NULL ? 0 : purge_slab(slab);
}

static size_t sweep_step(size_t looks)
{
    size_t purged = 0;
    for (; looks != 0 && load_plain(&sweep.is_on) != 0; looks--) {
        purged += sweep_look();
    }
    return purged;
}

/* More than a half of what was out of the slabs went back, and more than may wait. */
static bool has_fallen(size_t out)
{
    const size_t most = load_plain(&sweep.out_most), fallen = most > out ? most - out : 0;
    invariant(most <= PTRDIFF_MAX && out <= PTRDIFF_MAX);
    return fallen > max_size(out, GROWTH_UNITS << UNIT_SHIFT) && fallen >> UNIT_SHIFT > reclaim_waiting_units();
}

static bool sweep_is_due(size_t out)
{
    const uint64_t grown = counter_get(&depot.fresh_units) - load_plain(&sweep.fresh_units);
    const size_t used = counter_get(&depot.units[RUN_USED]);
    return grown > max_size(GROWTH_UNITS, used >> GROWTH_SHIFT) || has_fallen(out);
}

void holes_tick(void)
{
    const size_t out = depot_out_bytes(), last = load_plain(&sweep.out_last);
    if (out != last) {
        store_plain(&sweep.out_last, out);
        store_plain(&sweep.out_most, max_size(load_plain(&sweep.out_most), out));
    }
    if (likely(load_plain(&sweep.is_on) == 0 && !sweep_is_due(out)) || reclaim_is_refused()) {
        return;
    }
    if (!lock_try(&sweep.lock)) {
        return;
    }
    if (load_plain(&sweep.is_on) == 0 && sweep_is_due(out)) {
        sweep_begin(false);
    }
    trace_sweep(os_page_bytes());
    (void)sweep_step(SWEEP_STEP_SLABS + (out < last ? (last - out) >> LOOK_SHIFT : 0));
    lock_release(&sweep.lock);
}

bool holes_step(bool begins, size_t *purged)
{
    lock_acquire(&sweep.lock);
    if (begins) {
        sweep_begin(true);
    }
    const size_t bytes = sweep_step(SWEEP_STEP_SLABS);
    const bool goes_on = load_plain(&sweep.is_on) != 0;
    lock_release(&sweep.lock);
    *purged += bytes;
    return goes_on;
}

size_t holes_purge_epoch(struct epoch *epoch)
{
    struct partial_list *const partials = epoch_partials(epoch);
    size_t purged = 0;
    invariant(epoch != &epoch_process && load_plain(&epoch->pins) != 0);
    lock_acquire(&sweep.lock);
    for (unsigned c = 1; partials != NULL && c < CLASS_LIMIT; c++) {
        for (uint32_t left = counter_get(&partials[c].length); left != 0; left--) {
            struct run *slab = partial_attach_unpurged(&partials[c], true);
            purged += slab == NULL ? 0 : purge_slab(slab);
        }
    }
    while (purge_chunks(epoch, &purged)) {
    }
    lock_release(&sweep.lock);
    return purged;
}

size_t holes_purge_all(void)
{
    size_t purged = 0;
    for (bool begins = true; holes_step(begins, &purged);) {
        begins = false;
    }
    return purged;
}

void holes_keep_out(void)
{
    lock_acquire(&sweep.lock);
}

void holes_let_in(void)
{
    lock_release(&sweep.lock);
}
