/* Retired slots: those that a heap keeps aside until it is emptied, because they cannot be handed out again: their
 * generations are used up (generation.h).
 *
 * Invariant: a retired slot is in no bitmap and in no magazine. Threads: the holder of the heap. */
#ifndef TSLAB_THREAD_RETIRED_SLOTS_H
#define TSLAB_THREAD_RETIRED_SLOTS_H

#include "thread/heap.h"

/* Puts aside a slot that was just allocated and cannot be used. The heap keeps it until heap_unretire. False: no
 * memory, and the slot went back to its slab. Enters the gate. */
bool heap_retire(struct heap *heap, unsigned class, void *p);

/* Gives back the slots that were put aside. In the gate. */
void heap_unretire(struct heap *heap);

#endif
