/* The budget of caches: what magazines, stocks, outboxes and the exchange may hold together. A heap takes bytes out of
 * it when a class needs more, and puts them back when the class is idle or the heap ends. So the budget goes to the
 * threads that use it. Once half of it is taken, a class of a thread begins with a share, which is the smaller the more
 * threads there are. Where nothing is left, a magazine holds one slot.
 *
 * Hot runs (hot_runs.h) are not counted, because that would cost more than they save. Where the option sets the budget,
 * they have a quarter of it, in equal parts for all threads. The exchange is counted where the option sets the budget.
 *
 * The option cache_bytes sets it. By default it is 64 MiB, or an eighth of the memory in use if that is more. It gives
 * way to what the purger has learned to keep (reclaim.h), because that memory stays in the process anyway.
 *
 * Threads: any. */
#ifndef TSLAB_THREAD_CACHE_BUDGET_H
#define TSLAB_THREAD_CACHE_BUDGET_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that a class of one of so many threads gets at first, and the most that its hot runs may have. */
size_t cache_budget_share(uint32_t threads);
size_t cache_budget_hot(uint32_t threads);

/* Whether the option sets the budget. */
bool cache_budget_is_set(void);

/* Whether there are so many bytes left. Threads that ask at the same moment may then take a little more than there
 * is. */
bool cache_budget_has(size_t bytes);

void cache_budget_take(size_t bytes);
void cache_budget_put(size_t bytes);

/* The bytes taken. */
size_t cache_budget_taken(void);

#endif
