/* The cache budget: how many bytes magazines and outboxes may hold together. A heap takes bytes from the budget when a
 * class needs more, and puts them back when the class is idle or the heap ends. Of a half of it each thread has its
 * part for itself, so that threads that rest take nothing from others. The other half goes to those who ask first.
 * Beyond it a magazine holds a few slots (heap.c).
 *
 * The option cache_bytes sets the budget. The default is 128 MiB, or an eighth of the memory in use, if that is more.
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

/* With this many threads: the most units of a thread's hot runs. */
uint32_t cache_budget_hot(uint32_t threads);

/* Whether the option sets the budget. */
bool cache_budget_is_set(void);

/* Whether a heap may take these bytes beside the `heap_bytes` that it has taken, where there are `threads` threads.
 * Threads that ask at the same moment may together take a little more than the budget. */
bool cache_budget_has(uint32_t threads, size_t heap_bytes, size_t bytes);

/* Whether there is room for what waits outside of heaps, beside what they took. */
bool cache_budget_has_beside(size_t bytes);

/* Takes bytes, or puts some back (0 - bytes). */
void cache_budget_change(size_t bytes);

/* The bytes taken. */
size_t cache_budget_taken(void);

#endif
