/* Reclaiming: when the pages of empty runs go back to the operating system. A policy, apart from recycling (partial.h),
 * which it does not know: it sees only the depot.
 *
 * Dirty runs are purged when they have waited longer than the option purge_delay_ms, or when there are more of them
 * than the retain budget allows. Who purges takes the run out of the depot, lets the kernel work without any lock but
 * the purger's own, and puts it back clean. Long clean runs also give back their part of the side tables, and the
 * longest of them their addresses.
 *
 * Where the kernel refuses to take pages (they are locked, or a sandbox forbids the call), the first unit that it
 * refuses is set apart as stuck, and nothing is tried again before purge_delay_ms have passed.
 *
 * Threads: any, inside its gate. */
#ifndef TSLAB_CORE_RECLAIM_H
#define TSLAB_CORE_RECLAIM_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>

struct reclaim_counters {
    atomic_u64 calls;   /* of madvise */
    atomic_u64 bytes;   /* given back */
    atomic_u64 refused; /* calls that the kernel refused */
};

extern struct reclaim_counters reclaim_counters;

/* Gives whole pages back to the system, and counts it; false when the kernel refuses. */
bool reclaim_pages(char *start, size_t bytes);

/* What the program has shown that it wants back soon after it freed it; 0 while it did not. */
size_t reclaim_learned_bytes(void);

/* Whether more is dirty than the budget allows: a few loads, no gate needed. */
bool reclaim_is_over_budget(void);

/* Called at the end of slow operations: purges what is due. Cheap when nothing is. */
void reclaim_tick(void);

/* Whether the system refused to take pages lately, and purging pauses. */
bool reclaim_is_refused(void);

/* Purges everything that is dirty, also what was refused before; returns the bytes. Waits for another purger first, so
 * that afterwards nothing that was dirty before the call is in anyone's hands. */
size_t reclaim_all(void);

/* As depot_take. When there is no run that is long enough, purges what is dirty, so that it merges with what is clean,
 * and waits for another purger, who may hold what is needed, before it gives up. */
uint32_t reclaim_take(uint32_t n, uint32_t align, bool *clean);

#endif
