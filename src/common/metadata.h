/* Memory for the engine's own records: epochs, holds, lists, heaps and threads. It is zeroed, never given back, and
 * apart from all user memory. */
#ifndef TSLAB_COMMON_METADATA_H
#define TSLAB_COMMON_METADATA_H

#include "base/atomic.h"

#include <stddef.h>

extern atomic_size_t meta_bytes;            /* bytes handed out so far */
extern atomic_size_t metadata_mapped_bytes; /* bytes of the mappings that they come from */

/* Zeroed memory, aligned to a cache line; NULL: no memory. Any thread. */
void *metadata_alloc(size_t bytes);

#endif
