/* The budget of caches: what the magazines and stocks of all threads may hold together, beyond the few slots that each
 * magazine starts with. A heap takes bytes out of it when a class needs more, and puts them back when the class is idle
 * or the heap ends. So the budget goes to the threads that use it.
 *
 * The option cache_bytes sets it. By default it is 64 MiB, or an eighth of the memory in use if that is more. It gives
 * way to what the purger has learned to keep (reclaim.h), because that memory stays in the process anyway.
 *
 * Threads: any. */
#ifndef TSLAB_CORE_BUDGET_H
#define TSLAB_CORE_BUDGET_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether there are so many bytes left. Threads that ask at the same moment may then take a little more than there
 * is. */
bool budget_has(size_t bytes);

void budget_take(size_t bytes);
void budget_put(size_t bytes);

/* The bytes taken. */
size_t budget_taken(void);

#endif
