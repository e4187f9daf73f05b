/* Flushing: a heap gives slots back to their slabs. From then on any thread may take them.
 *
 * Threads: any, in a gate. */
#ifndef TSLAB_THREAD_FLUSH_H
#define TSLAB_THREAD_FLUSH_H

#include "slab/partial_list.h"

/* Gives back the slots of mask in one word of a slab's bitmap, and evaluates the slab if its state may have to change.
 */
void flush_word(struct run *slab, unsigned class, unsigned word, uint64_t mask);

/* Gives back n slots of a class. Neighbours in the array that share a word of their bitmap go back by one atomic
 * operation. So do others where slots are mixed. Ends the program when a slot is among them twice, or is none. */
void flush_slots(unsigned class, void *const *slots, size_t n);

/* Whether the slots of a few slabs take turns among these: several threads made them, and one frees them. False where
 * they are few, or a slab of the class has few slots. */
bool flush_mixes_slabs(unsigned class, void *const *slots, size_t n);

/* Whether neighbours among these tend to lie in one word of a slab, but neither upwards nor downwards. Such slots go
 * back to their slabs at little cost, many by one operation, and come out in the order of addresses. */
bool flush_is_unordered(unsigned class, void *const *slots, size_t n);

#endif
