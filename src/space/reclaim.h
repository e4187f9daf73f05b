/* Reclaiming: when the pages of empty runs go back to the operating system. It is a policy, apart from recycling
 * (partial_list.h): it sees only the depot.
 *
 * Dirty runs are purged when they have waited longer than the option purge_delay_ms, or when more of them wait than the
 * program has lately reused (space/recent_use.h). Used and waiting memory together stay at the recent peak plus a
 * little. The purger takes a run out of the depot, lets the kernel work under no lock but the purger's own, and puts
 * the run back clean. Long clean runs also give back their part of the side tables.
 *
 * Where the kernel refuses to take pages (they are locked, or a sandbox forbids the call), those around them go, and
 * purging pauses for purge_delay_ms.
 *
 * Threads: any, inside its gate. */
#ifndef TSLAB_SPACE_RECLAIM_H
#define TSLAB_SPACE_RECLAIM_H

#include "base/atomic.h"
#include "base/bits.h"

#include <stdbool.h>
#include <stddef.h>

struct reclaim_counters {
    atomic_u64 calls;   /* calls of madvise */
    atomic_u64 bytes;   /* bytes given back */
    atomic_u64 refused; /* calls that the kernel refused */
};

extern struct reclaim_counters reclaim_counters;

/* Gives whole pages back to the system, and counts the call. False when the kernel refuses. */
bool reclaim_pages(char *start, size_t bytes);

/* The most units that may wait for reuse now. */
size_t reclaim_waiting_units(void);

/* Whether more is dirty than may wait, or has waited for long, and purging does not pause. A few loads, without a gate.
 */
bool reclaim_has_too_much(void);
bool reclaim_has_old(uint64_t now_ms);

/* Called at the end of slow operations: purges the units above the limit, and wakes the keeper, which purges old runs.
 * Without a keeper it purges those, too. It purges a step, or as much as became empty or was taken without pages since
 * the last call, so that nothing is left when the last free has been done. Cheap when there is nothing to do. */
void reclaim_tick(void);

/* For the keeper: purges the units above the limit and old runs, in steps. False: there were none, or another thread
 * purges. */
bool reclaim_due(void);

/* The keeper waits on this word. RECLAIM_NAPS: it wakes by itself, and asks to be told of a slow operation.
 * RECLAIM_SLEEPS: it sleeps until one. */
enum { RECLAIM_NAPS = 1, RECLAIM_SLEEPS };
extern atomic_u32 reclaim_waits;
extern atomic_u32 reclaim_is_kept; /* 1: there is a keeper */
void reclaim_wake(void);

static inline void reclaim_call(void)
{
    if (unlikely(load_plain(&reclaim_waits) != 0)) {
        reclaim_wake();
    }
}

/* The system has just refused to take pages: purging pauses. */
void reclaim_pause(void);

/* Whether the system refused to take pages lately, so that purging pauses. */
bool reclaim_is_refused(void);

/* Purges everything that is dirty. Returns the bytes given back. Waits for another purger
 * first: so when it returns, no purger holds a run that was dirty before the call. */
size_t reclaim_all(void);

/* Allocates a run, as depot_take. When no run is long enough, it waits for another purger, which may hold the run that
 * is needed, and purges what is dirty, so that it merges with clean runs. Only then it gives up. */
uint32_t run_alloc(uint32_t n, uint32_t align, bool *clean);

/* The same, as depot_take_to_fill. */
uint32_t run_alloc_to_fill(uint32_t n, bool *clean);

#endif
