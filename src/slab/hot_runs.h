/* Hot runs: a few runs of large blocks that a heap's holder freed lately, and keeps for its next ones. To the depot
 * they are used.
 *
 * Invariant: the runs together are at most HOT_UNITS long.
 *
 * Threads: only the holder puts runs in, by one store each, without a lock or a gate. So a fork may interrupt the
 * holder anywhere. Any thread in a gate may flush: each run is taken out by a compare-and-swap. Reports read the
 * lengths. */
#ifndef TSLAB_SLAB_HOT_RUNS_H
#define TSLAB_SLAB_HOT_RUNS_H

#include "space/depot.h"

struct hot_runs {
    atomic_u64 run[HOT_RUNS]; /* its first unit, and above it its length; 0: the place is empty */
    atomic_u32 uses;          /* how often the holder took or put a run */
    uint32_t uses_seen;       /* that number at the last look for idle runs */
};

/* Takes a run of n units. 0: there is none of that length. */
uint32_t hot_runs_take(struct hot_runs *hot, uint32_t n);

/* Keeps a run, which has no tag. False when it is too long, or there is no room. */
bool hot_runs_put(struct hot_runs *hot, uint32_t first, uint32_t n);

/* The units of all runs. */
uint32_t hot_runs_units(const struct hot_runs *hot);

/* Puts all runs into the depot. Inside a gate. */
void hot_runs_flush(struct hot_runs *hot);

/* Does so if the runs were not used since the last such look. Inside the holder's gate. */
void hot_runs_flush_idle(struct hot_runs *hot);

#endif
