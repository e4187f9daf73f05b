/* A search through a few places. The order of the stores lets a fork interrupt the holder between any two of them. */
#include "core/hot.h"

#include "os/fatal.h"

uint32_t hot_take(struct hot_runs *hot, uint32_t n)
{
    hot->touched = true;
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        const uint32_t first = load_plain(&hot->first[i]);
        if (first != 0 && hot->units[i] == n) {
            invariant(counter_get(&hot->total) >= n);
            store_relaxed(&hot->first[i], 0);
            store_relaxed(&hot->total, counter_get(&hot->total) - n);
            return first;
        }
    }
    return 0;
}

bool hot_put(struct hot_runs *hot, uint32_t first, uint32_t n)
{
    invariant(first != 0 && n != 0 && counter_get(&hot->total) <= HOT_UNITS);
    hot->touched = true;
    if (n > HOT_RUN_UNITS || counter_get(&hot->total) + n > HOT_UNITS) {
        return false;
    }
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        if (load_plain(&hot->first[i]) == 0) {
            hot->units[i] = n;
            store_relaxed(&hot->total, counter_get(&hot->total) + n);
            store_release(&hot->first[i], first);
            return true;
        }
    }
    return false;
}

void hot_flush(struct hot_runs *hot)
{
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        const uint32_t first = load_plain(&hot->first[i]);
        if (first != 0) {
            invariant(hot->units[i] != 0 && hot->units[i] <= HOT_RUN_UNITS);
            store_relaxed(&hot->first[i], 0);
            depot_put(first, hot->units[i], false);
        }
    }
    counter_set(&hot->total, 0);
}
