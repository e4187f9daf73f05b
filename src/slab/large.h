/* Large blocks: objects that have a run of units each.
 *
 * A large block starts at its run's first unit, whose tag is TAG_LARGE. The bytes that its user may touch end at a
 * page, which may lie before the end of the run. A freed run stays hot with the heap, or becomes a dirty run of the
 * depot that serves any thread. reclaim.h decides about its pages.
 *
 * Threads: any, inside a gate unless a function says otherwise. */
#ifndef TSLAB_SLAB_LARGE_H
#define TSLAB_SLAB_LARGE_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hot_runs;

/* The units of a run that serves this many bytes. 0 when no run can. Any thread. */
uint32_t large_units(size_t bytes);

/* A block of at least `bytes` (above 0, at most PTRDIFF_MAX), aligned to a power of two, of the epoch with this id, to
 * which the caller links it, or, for 0, of the process. *zero says whether it reads as zero. NULL: no memory, and *zero
 * is as it was. */
void *large_alloc(uint32_t epoch, size_t bytes, size_t alignment, bool *zero);

/* The id of the epoch that the large block at p belongs to. 0 when it belongs to the process, or there is none at p. */
uint32_t large_epoch(const void *p);

/* A block of at least `bytes`, aligned, from the hot runs of the caller's heap. NULL when none of them fits. Needs no
 * gate. */
void *large_alloc_hot(struct hot_runs *hot, size_t bytes, size_t alignment);

/* Writes zeros over the first bytes of the block at p, which is about to be handed out. Long blocks get pages without
 * memory instead, for most callers want sparse ones so long. Needs no gate. */
void large_clear(void *p, size_t bytes);

/* Frees the block at p into the hot runs of the caller's heap, which may be `most` units together. False when no block
 * starts at p, or they have no room. Needs no gate. */
bool large_free_hot(struct hot_runs *hot, void *p, uint32_t most);

/* The usable bytes of the block at p. 0 when p is not the start of a large block. */
size_t large_usable(const void *p);

/* Frees the block at p. False when there is none. If it is short enough to be a hot run, it takes the place of the
 * older ones. */
bool large_free(struct hot_runs *hot, void *p, uint32_t most);

/* Puts the run of a block into the depot, or, in the checked library, traps it. Its tag is cleared, and it is on no
 * list.
 */
void large_retire(uint32_t first, uint32_t units);

/* Moves the pages of the block at p, which is of the process, to a block of at least `bytes`, and frees p. NULL: p is
 * as it was. There is no memory, or copying the contents is quicker: the block is short, or the new memory has pages.
 */
void *large_move(void *p, size_t bytes);

/* Resizes the block at p to `bytes` without moving it, at the cost of the units that it gets or gives back. False when
 * that is not possible. Then nothing has changed. */
bool large_resize(void *p, size_t bytes);

#endif
