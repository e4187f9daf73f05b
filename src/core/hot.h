/* Hot runs: a few runs of large blocks that a heap's holder freed lately, for its next ones. To the depot they are
 * used.
 *
 * Threads: the holder alone, without a lock or a gate: one store takes a run out and one store puts it in, so a fork
 * may cut the holder anywhere. Reports read `total`. */
#ifndef TSLAB_CORE_HOT_H
#define TSLAB_CORE_HOT_H

#include "core/depot.h"

struct hot_runs {
    atomic_u32 first[HOT_RUNS]; /* 0: the place is empty */
    uint32_t units[HOT_RUNS];
    atomic_u32 total; /* units in all of them; the holder writes, reports read */
    bool touched;     /* since the last look for idle ones */
};

/* A run of n units that was put there, or 0. */
uint32_t hot_take(struct hot_runs *hot, uint32_t n);

/* Keeps a run; false when it is too long, or there is no room. */
bool hot_put(struct hot_runs *hot, uint32_t first, uint32_t n);

/* Puts all into the depot. In the gate. */
void hot_flush(struct hot_runs *hot);

#endif
