/* Statistics: sums over all heaps, and over the counts of the depot, the lists and the epochs.
 *
 * Threads: any, outside of the gate. */
#ifndef TSLAB_REPORT_STATISTICS_H
#define TSLAB_REPORT_STATISTICS_H

#include "audit/accounts.h"
#include "common/figures.h"
#include "thread/heap.h"

struct thread;

/* The figures of a class that follow from counts. Those of its slabs are 0. */
void stats_class_counted(unsigned class, struct class_figures *figures);

/* The same, and what a look at each slab tells. Live objects, cached bytes and slabs are then what the slabs say. */
void stats_class_get(unsigned class, struct class_figures *figures);

/* The counts and cached slots of a record for the thread that it serves. */
void stats_thread(const struct thread *thread, struct thread_figures *figures);

/* The totals of the process. `see`, unless it is NULL, is told the figures of each class that they are sums of. */
typedef void class_seer(void *context, unsigned class, const struct class_figures *counted);
void stats_totals_seen(struct total_figures *totals, class_seer *see, void *context);

static inline void stats_totals(struct total_figures *totals)
{
    stats_totals_seen(totals, NULL, NULL);
}

/* The process as the system sees it, and the terms of its RSS: the accounts of each, without bytes that have no pages.
 */
void stats_process(struct process_figures *figures, const struct accounts *accounts);
void stats_process_get(struct process_figures *figures);

#endif
