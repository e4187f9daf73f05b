/* A search through a few places. All about a run is one word, so that whoever takes the word knows its length. */
#include "slab/hot_runs.h"

#include "os/fatal.h"

_Static_assert((HOT_RUNS & (HOT_RUNS - 1)) == 0, "places go round");
_Static_assert((int)HOT_RUN_UNITS >> (64 - HOT_LENGTH_SHIFT) == 0, "lengths fit");

uint32_t hot_runs_units(const struct hot_runs *hot)
{
    uint32_t units = 0;
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        units += hot_run_units(load_relaxed(&hot->run[i]));
    }
    return units;
}

/* The place of the shortest aligned run that serves n units, of several the one that came last, and the run. HOT_RUNS:
 * there is none. */
static unsigned best_place(const struct hot_runs *hot, uint32_t n, size_t alignment, uint64_t *best)
{
    unsigned found = HOT_RUNS;
    uint32_t most = n / HOT_SLACK + 1;
    for (unsigned i = 1; i <= HOT_RUNS && most != 0; i++) {
        const unsigned place = (hot->next - i) % HOT_RUNS;
        const uint64_t run = load_relaxed(&hot->run[place]);
        const uint32_t more = hot_run_units(run) - n; /* a shorter run has far more */
        if (more < most && ((uintptr_t)arena_address((uint32_t)run) & (alignment - 1)) == 0) {
            most = more;
            found = place;
            *best = run;
        }
    }
    return found;
}

uint32_t hot_runs_take(struct hot_runs *hot, uint32_t *n, size_t alignment)
{
    uint64_t run = 0;
    unsigned place;
    while (*n != 0 && *n <= HOT_RUN_UNITS && (place = best_place(hot, *n, alignment, &run)) < HOT_RUNS) {
        if (cas_acquire(&hot->run[place], &run, 0)) {
            invariant((uint32_t)run != 0 && hot_run_units(run) >= *n);
            *n = hot_run_units(run);
            return (uint32_t)run;
        }
    }
    return 0;
}

/* The first empty place from that of the oldest run on. HOT_RUNS: there is none. */
static unsigned empty_place(const struct hot_runs *hot)
{
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        const unsigned place = (hot->next + i) % HOT_RUNS;
        if (load_relaxed(&hot->run[place]) == 0) {
            return place;
        }
    }
    return HOT_RUNS;
}

bool hot_runs_put(struct hot_runs *hot, uint32_t first, uint32_t n, uint32_t most)
{
    invariant(first != 0 && n != 0 && most <= HOT_UNITS && hot->next < HOT_RUNS);
    if (n > HOT_RUN_UNITS || hot_runs_units(hot) + n > most) {
        return false;
    }
    const unsigned place = empty_place(hot);
    if (place == HOT_RUNS) {
        return false;
    }
    hot->next = (place + 1) % HOT_RUNS;
    const uint64_t look = (uint16_t)counter_get(&hot->looks);
    store_release(&hot->run[place], (uint64_t)n << HOT_LENGTH_SHIFT | look << HOT_LOOK_SHIFT | first);
    return true;
}

/* Notes a run that was taken out, to put it into the depot. */
static void note_old(struct old_runs *old, uint64_t run)
{
    invariant((uint32_t)run != 0 && hot_run_units(run) <= HOT_RUN_UNITS && old->count < OLD_RUNS);
    old->run[old->count++] = (struct stretch){ (uint32_t)run, hot_run_units(run) };
}

/* Takes out the run in a place, if there is one. */
static void take_out(struct hot_runs *hot, unsigned place, struct old_runs *old)
{
    uint64_t run = load_relaxed(&hot->run[place]);
    if (run != 0 && cas_acquire(&hot->run[place], &run, 0)) {
        note_old(old, run);
    }
}

void hot_runs_make_room(struct hot_runs *hot, uint32_t n, uint32_t most)
{
    struct old_runs old = { .count = 0 };
    uint32_t units = hot_runs_units(hot) + n;
    invariant(n != 0 && n <= HOT_RUN_UNITS && most <= HOT_UNITS && hot->next < HOT_RUNS);
    for (unsigned i = 0; i < HOT_RUNS && (i < HOT_RUNS / 2 || units > most); i++) {
        atomic_u64 *const place = &hot->run[(hot->next + i) % HOT_RUNS];
        const uint64_t run = load_relaxed(place);
        if (run != 0) {
            invariant(units >= hot_run_units(run) + n);
            store_relaxed(place, 0); /* only the holder takes runs outside of the gate */
            note_old(&old, run);
            units -= hot_run_units(run);
        }
    }
    invariant(units <= max_size(most, n));
    depot_put_old(&old);
}

void hot_runs_flush(struct hot_runs *hot)
{
    struct old_runs old = { .count = 0 };
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        take_out(hot, i, &old);
    }
    depot_put_old(&old);
}

void hot_runs_flush_idle(struct hot_runs *hot)
{
    struct old_runs old = { .count = 0 };
    const uint32_t looks = counter_get(&hot->looks);
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        if ((uint16_t)(load_relaxed(&hot->run[i]) >> HOT_LOOK_SHIFT) != (uint16_t)looks) {
            take_out(hot, i, &old);
        }
    }
    counter_set(&hot->looks, looks + 1);
    invariant(hot_runs_units(hot) <= HOT_UNITS);
    depot_put_old(&old);
}
