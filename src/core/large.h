/* Large blocks: runs of units of their own.
 *
 * A large block starts at its run's first unit, whose tag is TAG_LARGE. What its user may touch ends at a page, which
 * may lie before the end of the run. Freed ones stay hot with the heap, or are dirty runs of the depot and serve
 * anyone; reclaim.h decides about their pages.
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_CORE_LARGE_H
#define TSLAB_CORE_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hot_runs;

/* A block of at least bytes (above 0, at most PTRDIFF_MAX), aligned to a power of two. *zero: it reads as zero. NULL:
 * no memory. */
void *large_alloc(size_t bytes, size_t alignment, bool *zero);

/* The same as a run of an epoch, which the caller links. */
void *large_alloc_in(uint32_t epoch, size_t bytes, size_t alignment, bool *zero);

/* The id of the epoch that the large run at p belongs to, 0 when it is one of the process or there is none at p. */
uint32_t large_epoch(const void *p);

/* The same from the hot runs of the caller's heap; NULL when none of them fits. Needs no gate. */
void *large_alloc_hot(struct hot_runs *hot, size_t bytes);

/* Frees the block at p into the hot runs of the caller's heap, if it is one and they take it. Needs no gate. */
bool large_free_hot(struct hot_runs *hot, void *p);

/* The block at p: its usable bytes, 0 when p is not the start of a large block. */
size_t large_usable(const void *p);

/* Frees the block at p; false when there is none. Hot runs that left no room for it start anew. */
bool large_free(struct hot_runs *hot, void *p);

/* The run of a block, whose tag is cleared and which is in no list: to the depot, or, in the checked library, trapped.
 */
void large_retire(uint32_t first, uint32_t units);

/* Makes the block at p hold `bytes` where it is, growing or shrinking; false when that cannot be, and nothing changed.
 */
bool large_resize(void *p, size_t bytes);

#endif
