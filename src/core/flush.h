/* Flushing: a heap gives slots back to their slabs. From then on any thread may take them.
 *
 * Threads: any, in a gate. */
#ifndef TSLAB_CORE_FLUSH_H
#define TSLAB_CORE_FLUSH_H

#include "core/partial.h"

/* Gives back the slots of mask in one word of a slab's bitmap, and evaluates the slab if its state may have to change.
 */
void flush_word(struct run *slab, unsigned class, unsigned word, uint64_t mask);

/* Gives back a chain of slots, grouped by word of their bitmaps, with one atomic operation for up to 64 of them.
 * Returns how many slots there were. Ends the program when a slot is among them twice. */
uint64_t flush_chain(unsigned class, void *chain);

#endif
