/* Large blocks: runs of units of their own, and, where the arena cannot hold one, mappings of their own.
 *
 * A large block starts at its run's first unit, whose tag is TAG_LARGE. What its user may touch ends at a page, which
 * may lie before the end of the run. Freed ones are dirty runs of the depot and serve anyone; reclaim.h decides about
 * their pages.
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_CORE_LARGE_H
#define TSLAB_CORE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/* A block of at least bytes (above 0, at most PTRDIFF_MAX), aligned to a power of two. *zero: it reads as zero. NULL:
 * no memory. */
void *large_alloc(size_t bytes, size_t alignment, bool *zero);

/* The block at p: its usable bytes, 0 when p is not the start of a large block. */
size_t large_usable(const void *p);

/* Frees the block at p; false when there is none. */
bool large_free(void *p);

/* Makes the block at p hold `bytes` where it is, growing or shrinking; false when that cannot be, and nothing changed.
 */
bool large_resize(void *p, size_t bytes);

#endif
