/* Resting heaps: a thread that ends leaves its heap whole to one that begins, with its magazines and its
 * attached slabs. Outboxes and hot runs are emptied first. As many heaps rest as there are places, and what they cache
 * together is bounded. One that has rested for a second is emptied by the keeper, or by a slow operation.
 *
 * Places are written under the registry's lock. To empty a heap takes only its gate, which is tried: the heap stays in
 * its place.
 *
 * Invariants: the record of a heap in a place is neither live nor idle, and no thread has it or waits for its gate.
 *
 * Threads: any. The card is docs/protocols/thread.md. */
#ifndef TSLAB_THREAD_RESTING_H
#define TSLAB_THREAD_RESTING_H

#include "thread/heap.h"

/* Heaps that rest, or were emptied since. */
extern _Atomic(struct heap *) resting_places[RESTING];

/* Has the heap of a thread that ends begin to rest, if there seems to be room for it. In its gate. */
bool resting_begin(struct heap *heap);

/* Gives a heap that has begun to rest a place. *emptied receives one that had the place and rests no more, or NULL.
 * False: there is no place. Under the registry's lock. */
bool resting_place(struct heap *heap, struct heap **emptied);

/* Takes a heap out of its place, that which came last of those that nobody empties now, for a thread that begins. NULL:
 * there is none. Under the registry's lock. */
struct heap *resting_take(void);

/* Empties the heaps that have rested since a time. Returns whether others still rest. In a gate, or with the keeper's
 * lock. */
bool resting_look(uint64_t until_ms);

/* The same for those that have rested for long. */
bool resting_tick(uint64_t now_ms);

#endif
