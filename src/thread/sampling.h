/* Which allocations are sampled, at no cost for the fast path while none are.
 *
 * While allocations are sampled, the fast path takes slots from a second row of magazines (size_class.h, heap.h). No
 * free puts a slot there, so what is there is handed out in as many allocations, and none of them is sampled: the row
 * is filled with at most as many slots as come before the next sample of the class. The allocation that finds it empty
 * comes here. It is sampled, or it fills the row anew from the magazine of the first row. Each slot that goes to the
 * second row, or out by another way, is looked up: if a sampled object was there, it was freed (samples.h).
 *
 * The bytes of each class of slots of a heap, of each chunk, and of all large blocks of a thread are Poisson processes
 * of their own. Together they are one, because they are independent (docs/decisions/profiles.md).
 *
 * Owns: for each heap that allocates meanwhile, how far its next samples are, and the places of its second row.
 *
 * Threads: the holder of the heap. No gate; it is entered here. */
#ifndef TSLAB_THREAD_SAMPLING_H
#define TSLAB_THREAD_SAMPLING_H

#include "common/samples.h"
#include "thread/refill.h"
#include "thread/thread.h"

/* A slot of a class, while allocations are sampled. NULL: no memory, or the epoch is closed. */
void *sampling_alloc_slot(struct heap *heap, unsigned class);

/* The same at any time. */
always_inline void *sampling_slot(struct heap *heap, unsigned class)
{
    if (samples_are_on()) {
        return sampling_alloc_slot(heap, class);
    }
    void *const p = magazine_pop(&heap->front.magazine[class]);
    return p != NULL ? p : refill_alloc(heap, class);
}

/* A large block was allocated, or grew in its place from `before` bytes; p may be NULL. */
void sampling_large(struct thread *thread, void *p, size_t before);

/* Samples an object of a chunk. */
void sampling_in_chunk(struct thread *thread, const struct epoch *epoch, void *p);

/* Whether the object of a record is gone, as far as its own place tells: it may also be free and wait in a cache. */
bool sampling_is_dead(const struct sample *sample);

#endif
