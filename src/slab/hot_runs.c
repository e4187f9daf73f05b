/* A search through a few places. First unit and length are one word, so that whoever takes a run knows its length. */
#include "slab/hot_runs.h"

#include "os/fatal.h"

enum { LENGTH_SHIFT = 32 };

static uint32_t length_of(uint64_t run)
{
    return (uint32_t)(run >> LENGTH_SHIFT);
}

uint32_t hot_runs_units(const struct hot_runs *hot)
{
    uint32_t units = 0;
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        units += length_of(load_relaxed(&hot->run[i]));
    }
    return units;
}

uint32_t hot_runs_take(struct hot_runs *hot, uint32_t n)
{
    counter_add(&hot->uses, 1);
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        uint64_t run = load_relaxed(&hot->run[i]);
        if (run != 0 && length_of(run) == n && cas_acquire(&hot->run[i], &run, 0)) {
            invariant((uint32_t)run != 0 && n <= HOT_RUN_UNITS);
            return (uint32_t)run;
        }
    }
    return 0;
}

bool hot_runs_put(struct hot_runs *hot, uint32_t first, uint32_t n)
{
    invariant(first != 0 && n != 0 && hot_runs_units(hot) <= HOT_UNITS);
    counter_add(&hot->uses, 1);
    if (n > HOT_RUN_UNITS || hot_runs_units(hot) + n > HOT_UNITS) {
        return false;
    }
    invariant(n <= HOT_RUN_UNITS);
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        if (load_relaxed(&hot->run[i]) == 0) {
            store_release(&hot->run[i], (uint64_t)n << LENGTH_SHIFT | first);
            return true;
        }
    }
    return false;
}

void hot_runs_flush(struct hot_runs *hot)
{
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        uint64_t run = load_relaxed(&hot->run[i]);
        if (run != 0 && cas_acquire(&hot->run[i], &run, 0)) {
            invariant(length_of(run) != 0 && length_of(run) <= HOT_RUN_UNITS);
            depot_put((uint32_t)run, length_of(run), false);
        }
    }
}

void hot_runs_flush_idle(struct hot_runs *hot)
{
    const uint32_t uses = counter_get(&hot->uses);
    if (uses == hot->uses_seen) {
        hot_runs_flush(hot);
    }
    hot->uses_seen = uses;
}
