/* The heaps of epochs that are in use: reports walk these alone. What a heap has counted is kept for all when it ends.
 *
 * Threads: any, in a gate. */
#ifndef TSLAB_CORE_HEAPS_H
#define TSLAB_CORE_HEAPS_H

#include "core/heap.h"

/* Enlists the heap of a hold that begins to use slabs; takes it off again when it is empty. */
void heaps_enlist(struct heap *heap);
void heaps_delist(struct heap *heap);

/* Adds up one class over these heaps, and over those that are gone. */
void heaps_add(unsigned class, struct class_sums *sums);

#endif
