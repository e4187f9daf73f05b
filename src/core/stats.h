/* Statistics: sums of what threads published and what the depot and the lists count. Threads: any; takes the registry's
 * lock. */
#ifndef TSLAB_CORE_STATS_H
#define TSLAB_CORE_STATS_H

#include <tslab/tslab.h>

/* Fills in *stats. */
void stats_get(struct tslab_stats *stats);

/* Writes the report as text. */
void stats_print(int fd);

#endif
