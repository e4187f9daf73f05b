/* Hot runs: runs of large blocks that a heap's holder freed lately, and keeps for its next ones. To the depot they are
 * used. A run serves blocks that are as long, or shorter by a fraction. They go back when they are idle, and when the
 * process grows (upkeep.h).
 *
 * Invariant: the runs together are at most HOT_UNITS long.
 *
 * Threads: only the holder puts runs in, by one store each, without a lock or a gate. So a fork may interrupt the
 * holder anywhere. Any thread in the holder's gate may flush, and the holder may take a run at the same moment: so each
 * is taken out by a compare-and-swap. Reports read the lengths. */
#ifndef TSLAB_SLAB_HOT_RUNS_H
#define TSLAB_SLAB_HOT_RUNS_H

#include "space/depot.h"

struct hot_runs {
    atomic_u64 run[HOT_RUNS]; /* from bit 0 on its first unit, then the looks when it came, then its length; 0: none */
    atomic_u32 looks;         /* looks for idle runs so far. Written in the gate */
    uint32_t next;            /* the place behind that of the run that came last: from there on are the oldest runs */
};

enum { HOT_LOOK_SHIFT = 32, HOT_LENGTH_SHIFT = 48 };

/* The length of a run. */
static inline uint32_t hot_run_units(uint64_t run)
{
    return (uint32_t)(run >> HOT_LENGTH_SHIFT);
}

/* Takes a run of *n units, or a little longer, whose address is a multiple of the alignment: *n receives its units. 0:
 * there is none. */
uint32_t hot_runs_take(struct hot_runs *hot, uint32_t *n, size_t alignment);

/* Keeps a run, which has no tag. False when it is too long, or there is no room: then all would be more than `most`
 * units. */
bool hot_runs_put(struct hot_runs *hot, uint32_t first, uint32_t n, uint32_t most);

/* Makes room for a run of n units, at most `most`: puts the older half of the runs into the depot. For the holder, in
 * its gate. */
void hot_runs_make_room(struct hot_runs *hot, uint32_t n, uint32_t most);

/* The units of all runs. */
uint32_t hot_runs_units(const struct hot_runs *hot);

/* Puts all runs into the depot. Inside the holder's gate. */
void hot_runs_flush(struct hot_runs *hot);

/* A look for idle runs: puts those into the depot that came before the last look. Inside the holder's gate. */
void hot_runs_flush_idle(struct hot_runs *hot);

#endif
