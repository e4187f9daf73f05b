/* Allocating in an epoch, and freeing objects that are not in the chunk that the thread fills.
 *
 * A hold fills chunks first. When it has filled so much that its epoch proves long-lived, it goes over to slabs
 * (docs/decisions/epochs.md). An object that fits neither is a run of its own.
 *
 * Invariants: the hold's holder is the thread that allocates.
 *
 * Threads: any, for a hold that it has. The functions enter the gate themselves, except where one says otherwise. */
#ifndef TSLAB_EPOCH_EPOCH_ALLOC_H
#define TSLAB_EPOCH_EPOCH_ALLOC_H

#include "thread/thread.h"

/* Allocates from a hold that the thread has. *zero says whether the object reads as zero. NULL: no memory, or the epoch
 * is closed, and *zero says nothing. */
void *epoch_alloc(struct thread *thread, struct hold *hold, size_t size, size_t alignment, bool *zero);

/* Allocates a slot of a slab of the hold's epoch, aligned to a power of two of at most UNIT_BYTES. */
void *epoch_alloc_slot(struct thread *thread, struct hold *hold, size_t size, size_t alignment);

/* Allocates in the epoch with this value. NULL: *status says why. */
void *epoch_alloc_in(struct thread *thread, uint64_t value, size_t size, size_t alignment, bool *zero, int *status);

/* Free an object of a chunk that the thread does not fill, and a large run of an epoch. */
void epoch_free_chunk(struct thread *thread, void *p);
void epoch_free_run(struct thread *thread, struct epoch *epoch, void *p);

/* large_resize for a large run of an epoch. In the gate. */
bool epoch_resize_run(struct epoch *epoch, void *p, size_t size);

#endif
