/* Memory for the engine's own records: epochs, holds, lists, heaps and threads. It is zeroed, never given back but by
 * the page, and apart from all user memory. */
#ifndef TSLAB_COMMON_METADATA_H
#define TSLAB_COMMON_METADATA_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>

extern atomic_size_t meta_bytes;            /* bytes handed out so far */
extern atomic_size_t metadata_mapped_bytes; /* bytes of the mappings that they come from */
extern atomic_size_t metadata_torn_bytes;   /* of the rests of used up mappings, on a page that has records, too */

/* Zeroed memory, aligned to a cache line; NULL: no memory. Any thread, under no lock that others wait for (ranks.h). */
void *metadata_alloc(size_t bytes);

/* The same in two parts, for use under such a lock. metadata_take never maps memory. NULL: too little of the mapping is
 * left. Then metadata_ahead maps more, without the lock. False: no memory. Another thread may take it first, so both
 * are tried again. */
void *metadata_take(size_t bytes);
bool metadata_ahead(size_t bytes);

#endif
