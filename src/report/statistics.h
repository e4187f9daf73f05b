/* Statistics: sums over all heaps, and over the counts of the depot, the lists and the epochs.
 *
 * Threads: any, outside of the gate. */
#ifndef TSLAB_REPORT_STATISTICS_H
#define TSLAB_REPORT_STATISTICS_H

#include "base/build.h"

#include <tslab/tslab.h>

#include "thread/heap.h"

struct thread;

/* The sums for one class over all heaps and lists. */
void stats_class(unsigned class, struct class_sums *sums);

/* Describes a class. */
void stats_class_get(unsigned class, struct tslab_class_stats *stats);

/* The slots of a described class that wait in caches. */
static inline uint64_t stats_cached_slots(const struct tslab_class_stats *stats)
{
    return stats->magazine_slots + stats->stock_slots + stats->outbox_slots + stats->exchange_slots +
           stats->claimed_slots + stats->retired_slots;
}

/* What a record has done and has for the thread that it serves. */
void stats_thread(const struct thread *thread, struct tslab_thread_stats *stats);

/* Fills in *stats. */
void stats_get(struct tslab_stats *stats);

#endif
