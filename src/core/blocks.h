/* Blocks outside the arena: mappings of their own, found through a small table. Only for what does not fit the
 * reservation. Threads: any, inside a gate. */
#ifndef TSLAB_CORE_BLOCKS_H
#define TSLAB_CORE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

/* Maps at least bytes, aligned to a power of two, reading as zero; NULL: no memory. */
void *blocks_map(size_t bytes, size_t alignment);

/* The usable bytes of the block that starts at p; 0 when there is none. */
size_t blocks_usable(const void *p);

/* Unmaps the block that starts at p; false when there is none. */
bool blocks_unmap(void *p);

/* Bytes mapped so. */
size_t blocks_bytes(void);

#endif
