/* Which allocations are sampled, at the cost of a branch that is never taken.
 *
 * Each magazine counts the slots that it hands out, and the count ends where the next object of its class is sampled
 * (magazine.h): so the fast path counts down for nothing. The allocation that ends the count comes here. It is sampled,
 * and the count begins anew. While allocations are not sampled, the count ends after COUNT_MOST slots, and only begins
 * anew. The begin and end of sampling, and a change of its rate, stop all counts.
 *
 * A sampled object's slot is one as all others are: sampling changes neither addresses nor pages. The tag of its unit
 * sends the frees there to the slow path, which ends the record (samples.h).
 *
 * The bytes of each class of slots of a heap, of each chunk, and of all large blocks of a thread are Poisson processes
 * of their own. Together they are one, because they are independent (docs/decisions/profiles.md).
 *
 * Threads: the holder of the heap, outside of its gate, which is entered here. sampling_stop by any. */
#ifndef TSLAB_THREAD_SAMPLING_H
#define TSLAB_THREAD_SAMPLING_H

#include "common/option.h"
#include "slab/samples.h"
#include "thread/refill.h"
#include "thread/thread.h"

/* A slot of a class was handed out, and the magazine's count is not to be relied on. Returns the slot. */
void *sampling_count(struct heap *heap, unsigned class, void *p);

/* A slot of a class. NULL: no memory, or the epoch is closed. */
always_inline void *sampling_alloc_slot(struct heap *heap, unsigned class)
{
    struct magazine *const m = &heap->front.magazine[class];
    const bool bypasses = option_get(OPTION_MAGAZINES) == 0;
    void *p = bypasses ? NULL : magazine_take(m);
    p = p != NULL ? p : refill_alloc(heap, class);
    if (unlikely(magazine_is_stopped(m)) || (bypasses && samples_are_on())) {
        return sampling_count(heap, class, p);
    }
    return p;
}

/* A large block was allocated, or grew in its place from `before` bytes; p may be NULL. */
void sampling_large(struct thread *thread, void *p, size_t before);

/* Samples an object of a chunk. */
void sampling_in_chunk(struct thread *thread, const struct epoch *epoch, void *p);

/* An object that may be sampled is about to be freed, or to move away. */
void sampling_end(struct gate *gate, const void *p);

/* Has the holder of a heap look at the rate at its next allocation of each class. Returns how many counts had to be
 * stopped: the holder may have written them at the same moment, so it is to be called until there are none. Each is
 * stopped so many times. With the lock of the holder's gate. */
unsigned sampling_stop(struct heap *heap, unsigned times);

#endif
