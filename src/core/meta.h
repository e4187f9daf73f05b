/* Memory for the engine's own records: epochs, holds, lists, heaps and threads. It is zeroed, never given back, and
 * apart from all user memory. */
#ifndef TSLAB_CORE_META_H
#define TSLAB_CORE_META_H

#include "base/atomic.h"

#include <stddef.h>

extern atomic_size_t meta_bytes;        /* bytes handed out so far */
extern atomic_size_t meta_mapped_bytes; /* bytes of the mappings that they come from */

/* Zeroed memory, aligned to a cache line; NULL: no memory. Any thread. */
void *meta_alloc(size_t bytes);

#endif
