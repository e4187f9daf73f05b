/* Holes: pages of partly used slabs that lie wholly in free slots. They are found and given back without moving an
 * object, because the bitmap is outside of the slab. The purger takes the bits, gives the pages back, and gives the
 * bits back.
 *
 * Sweeps run while the program's memory grows. Each time that it has grown by a share of the memory in use, one sweep
 * over all partial slabs begins. Each slow operation looks at a few slabs, so that no operation waits long. A program
 * whose memory does not grow pays nothing, and the pages that it frees stay. object_trim sweeps at once.
 *
 * The purger holds a slab attached while it works, as any holder does (partial.h). Threads: any, inside its gate. */
#ifndef TSLAB_CORE_HOLES_H
#define TSLAB_CORE_HOLES_H

#include "core/partial.h"

/* Begins a sweep when one is due, and continues one that is under way. Cheap when there is nothing to do. */
void holes_tick(struct epoch *epoch);

/* A step of a sweep, which begins with it or goes on. Returns whether more steps are to follow. */
bool holes_step(struct epoch *epoch, bool begins);

/* Sweeps every partial slab now. Returns the bytes given back. */
size_t holes_purge_all(struct epoch *epoch);

#endif
