/* Overflow: where freed slots go that a magazine has no room for, or does not accept.
 *
 * Threads: the holder of the heap. */
#ifndef TSLAB_THREAD_OVERFLOW_H
#define TSLAB_THREAD_OVERFLOW_H

#include "thread/heap.h"

/* Frees a slot that its magazine accepts but has no room for. Enters the gate. */
void overflow_free(struct heap *heap, unsigned class, void *p);

/* Frees a slot of the process that belongs to another heap, through the outbox of the caller's heap. Enters the gate
 * when the outbox is full. */
void overflow_free_remote(struct heap *heap, unsigned class, void *p);

/* Frees a slot straight to its slab. Enters the gate if the slab has to be evaluated. */
void overflow_free_direct(struct heap *heap, unsigned class, void *p);

/* Whether a slot with this tag belongs to the process, so that it may wait in an outbox. The slots of an epoch do not
 * wait: their memory is to come back at once. */
always_inline bool overflow_may_wait(uint32_t tag)
{
    return (tag >> AFFINITY_SHIFT & (AFFINITY_EPOCH | AFFINITY_OF_EPOCH)) == 0;
}

#endif
