/* Refilling: where the slots of an empty magazine come from.
 *
 * Threads: the holder of the heap. */
#ifndef TSLAB_THREAD_REFILL_H
#define TSLAB_THREAD_REFILL_H

#include "space/pages.h"
#include "thread/heap.h"

/* Allocates a slot of a class whose magazine is empty. NULL: no memory. Enters the gate. */
void *refill_alloc(struct heap *heap, unsigned class);

/* Hands the lowest claimed slot straight to the caller. There is one. */
always_inline void *refill_hand_out(struct heap *heap, unsigned class)
{
    struct heap_class *hc = heap_class_of(heap, class);
    const uint64_t claimed = load_plain(&hc->claimed);
    invariant(claimed != 0 && hc->slab != NULL);
    char *const p = hc->claimed_start + (size_t)bit_lowest(claimed) * class_geometry[class].size;
    pages_touch(p, p + class_geometry[class].size);
    store_plain(&hc->claimed, claimed & (claimed - 1));
    counter_add(&hc->counters.bypassed_allocs, 1);
    return p;
}

/* Where magazines are turned off: allocates a claimed slot, unless it is the last. Else NULL. Changes private state
 * only, so it needs no gate. */
always_inline void *refill_alloc_claimed(struct heap *heap, unsigned class)
{
    const uint64_t claimed = load_plain(&heap_class_of(heap, class)->claimed);
    return (claimed & (claimed - 1)) == 0 ? NULL : refill_hand_out(heap, class);
}

#endif
