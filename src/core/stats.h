/* Statistics: sums of what threads published and what the depot and the lists count. Threads: any; takes the registry's
 * lock. */
#ifndef TSLAB_CORE_STATS_H
#define TSLAB_CORE_STATS_H

#include <tslab/tslab.h>

/* The sums for one class over all heaps and lists. */
struct class_sums {
    uint64_t allocs, frees, refills, refilled, flushes, flushed, stocked, bypassed_allocs, bypassed_frees, remote_frees;
    uint64_t opened, attached, recycled, cached, harvests, harvested, queue_longest;
};

void stats_class(unsigned class, struct class_sums *sums);

/* Fills in *stats. */
void stats_get(struct tslab_stats *stats);

/* Writes the report as text. */
void stats_print(int fd);

#endif
