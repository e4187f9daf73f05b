/* The keeper takes from a heap whose thread rests: kept trays, the attached slabs, and the slots of its magazines but
 * for the one that came in last of each class.
 *
 * Slots go when the thread has done nothing for four seconds: a thread that comes back earlier finds its caches full.
 *
 * The holder uses its magazines without the gate, and may be cut off there for as long as it likes: by the scheduler,
 * or by a signal handler that sleeps. So the keeper works from below, while the holder is at the top, in two looks:
 *
 *   1. It puts a *bar* into the magazine: NULL, in the place of the slot below the last one. The holder that comes down
 *      to it finds an empty magazine, and goes to its slow path.
 *   2. A look later each thread sees the bar. Is it still there, and is the holder above it, then the slots at and
 * below the bar are the keeper's. The bar is the lower end of the magazine from now on.
 *
 * The next slow operation of the holder takes the bars away, and moves the slots down to where they belong. The idea of
 * two ends is that of work-stealing queues (Frigo, Leiserson, Randall: "The Implementation of the Cilk-5 Multithreaded
 * Language", 1998). The time of a look stands for the barrier that they have.
 *
 * Threads: idle_look the keeper, with the lock of the holder's gate. The card is docs/protocols/thread.md. */
#ifndef TSLAB_THREAD_IDLE_H
#define TSLAB_THREAD_IDLE_H

#include "thread/heap.h"

/* Looks at a heap, and takes what it can if its holder did nothing since the last look. Returns whether it still has
 * hot runs. */
bool idle_look(struct heap *heap);

/* Whether the keeper may take slots of the heap at a later look, if its holder does nothing until then. */
static inline bool idle_may_take(const struct heap *heap)
{
    return heap->limit_bytes != 0 && !heap->is_spare;
}

/* Removes the bars, and moves no slots. With the lock of the holder's gate. */
void idle_unbar(struct heap *heap);

#endif
