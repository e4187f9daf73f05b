/* Hot runs: a few runs of large blocks that a heap's holder freed lately, and keeps for its next ones. To the depot
 * they are used.
 *
 * Invariant: `total` is at least the sum of all runs, and at most HOT_UNITS.
 *
 * Threads: only the holder, without a lock or a gate. One store takes a run out and one store puts it in, so a fork may
 * interrupt the holder anywhere. Reports read `total`. */
#ifndef TSLAB_CORE_HOT_H
#define TSLAB_CORE_HOT_H

#include "core/depot.h"

struct hot_runs {
    atomic_u32 first[HOT_RUNS]; /* first units; 0: the place is empty */
    uint32_t units[HOT_RUNS];   /* lengths; valid where first is not 0 */
    atomic_u32 total;           /* units of all runs */
    bool touched;               /* the runs were used since the last look for idle ones */
};

/* Takes a run of n units. 0: there is none of that length. */
uint32_t hot_take(struct hot_runs *hot, uint32_t n);

/* Keeps a run, which has no tag. False when it is too long, or there is no room. */
bool hot_put(struct hot_runs *hot, uint32_t first, uint32_t n);

/* Puts all runs into the depot. Inside the gate. */
void hot_flush(struct hot_runs *hot);

#endif
