/* Allocating in an epoch, and freeing what a hold's own chunk does not take back.
 *
 * A hold fills chunks first. One that has filled so much that its epoch proves long-lived goes over to slabs
 * (docs/decisions/chunks.md). What fits neither is a run of its own.
 *
 * Threads: any, for a hold that it has. They enter the gate themselves, but for what says otherwise. */
#ifndef TSLAB_CORE_EPOCH_ALLOC_H
#define TSLAB_CORE_EPOCH_ALLOC_H

#include "core/thread.h"

/* Allocates from a hold of the caller's. *zero: it reads as zero. NULL: no memory, or the epoch is closed. */
void *epoch_alloc(struct thread *thread, struct hold *hold, size_t size, size_t alignment, bool *zero);

/* A slot of a slab of the hold's epoch, aligned to a power of two of at most UNIT_BYTES. */
void *epoch_alloc_slot(struct thread *thread, struct hold *hold, size_t size, size_t alignment);

/* Allocates in an epoch by value. NULL: no memory, or *status says why not. */
void *epoch_alloc_in(struct thread *thread, uint64_t value, size_t size, size_t alignment, bool *zero, int *status);

/* Frees an object of a chunk, or a large run of an epoch. */
void epoch_free_chunk(struct thread *thread, void *p);
void epoch_free_run(struct thread *thread, struct epoch *epoch, void *p);

/* large_resize for such a run. In the gate. */
bool epoch_resize_run(struct epoch *epoch, void *p, size_t size);

#endif
