/* Holes: pages of partly used slabs that lie wholly in free slots. They are found and given back without moving an
 * object, because the bitmap is outside of the slab: take the bits, give the pages back, give the bits.
 *
 * When: while the program's memory grows. Each time that it has grown by a share of what is in use, one sweep over all
 * partial slabs begins, a few at each slow operation, so that no operation waits long. A program whose memory does not
 * grow pays nothing, and what it frees stays warm. object_trim sweeps at once.
 *
 * The purger holds a slab attached while it works, as any holder does (partial.h). Threads: any, inside its gate. */
#ifndef TSLAB_CORE_HOLES_H
#define TSLAB_CORE_HOLES_H

#include "core/partial.h"

/* Begins a sweep when one is due, and goes on with the one that is under way. Cheap when there is nothing to do. */
void holes_tick(struct epoch *epoch);

/* Sweeps every partial slab now. Returns the bytes given back. */
size_t holes_purge_all(struct epoch *epoch);

#endif
