/* Reclaiming: when the pages of empty runs go back to the operating system. A policy, apart from recycling (partial.h),
 * which it does not know: it sees only the depot.
 *
 * Dirty runs are purged when they have waited longer than the option purge_delay_ms, or when there are more of them
 * than the retain budget allows. Who purges takes the run out of the depot, lets the kernel work without any lock but
 * the purger's own, and puts it back clean.
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

/* Purges everything that is dirty; returns the bytes. Waits for another purger first, so that afterwards nothing that
 * was dirty before the call is in anyone's hands. */
size_t reclaim_all(void);

#endif
