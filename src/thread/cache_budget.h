/* The cache budget: how many bytes magazines, stocks and outboxes may hold together. A heap takes bytes from the budget
 * when a class needs more, and puts them back when the class is idle or the heap ends. So busy threads get most of it.
 * Once half of the budget is taken, a class that a thread begins to use gets a share of it. The more threads there are,
 * the smaller the share. When the budget is used up, a magazine holds one slot.
 *
 * The option cache_bytes sets the budget. The default is 64 MiB, or an eighth of the memory in use, if that is more.
 *
 * Freed large runs (hot_runs.h) do not take from the budget, because counting them costs more than they save. All
 * threads' hot runs together may be an eighth of the memory in use, in equal parts, but 2 MiB a thread at least and 8
 * MiB at most. If the option is set, they get a quarter of the budget, and the exchange counts. At a memory limit no
 * hot run is kept.
 *
 * Threads: any. */
#ifndef TSLAB_THREAD_CACHE_BUDGET_H
#define TSLAB_THREAD_CACHE_BUDGET_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With this many threads: the bytes that a class of a thread gets at first, and the most units of its hot runs. */
size_t cache_budget_share(uint32_t threads);
uint32_t cache_budget_hot(uint32_t threads);

/* Whether the option sets the budget. */
bool cache_budget_is_set(void);

/* Whether at least this many bytes are left. Threads that ask at the same moment may together take a little more than
 * the budget. */
bool cache_budget_has(size_t bytes);

void cache_budget_take(size_t bytes);
void cache_budget_put(size_t bytes);

/* The bytes taken. */
size_t cache_budget_taken(void);

#endif
