/* The list of the heaps of epochs that are in use. Reports walk these heaps alone. When a heap leaves the list, its
 * counts are added to sums that stay.
 *
 * Threads: any, in a gate. */
#ifndef TSLAB_THREAD_HEAP_LIST_H
#define TSLAB_THREAD_HEAP_LIST_H

#include "thread/heap.h"

/* Puts the heap of a hold that begins to use slabs on the list, and takes it off when it is empty. heap_list_delist
 * does nothing where the heap is not on the list. */
void heap_list_enlist(struct heap *heap);
void heap_list_delist(struct heap *heap);

/* Adds the counts of one class, of all heaps that are on the list or have been on it. */
void heap_list_add(unsigned class, struct class_sums *sums);

#endif
