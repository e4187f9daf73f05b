/* Slots that a heap gives back to their slabs, which are anybody's from then on.
 *
 * Threads: any, in a gate. */
#ifndef TSLAB_CORE_FLUSH_H
#define TSLAB_CORE_FLUSH_H

#include "core/partial.h"

/* Gives the slots of mask in one word of a slab's bitmap, and looks at the slab where that is due. */
void flush_word(struct run *slab, unsigned class, unsigned word, uint64_t mask);

/* Gives a chain of slots back, grouped by word of their bitmaps: one atomic operation for up to 64 of them. Returns how
 * many they were. Ends the program when one is among them twice. */
uint64_t flush_chain(unsigned class, void *chain);

#endif
