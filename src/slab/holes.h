/* Holes: pages of partly used slabs and chunks that are there although nothing on them is in use. They are found and
 * given back without moving an object, because what tells so is out of line. Of a slab, the purger takes the bits,
 * gives the pages back, and gives the bits back. In a closed chunk no place is used again, so the purger only pins it.
 * Which pages are there is known exactly (pages.h), so a slab is worth a purge exactly when it has such a page.
 *
 * Sweeps run while the program's memory grows. Each time that it has grown by a share of the memory in use, one sweep
 * over the partial slabs and closed chunks of all epochs begins. The same holds when much empty memory went back. Each
 * slow operation looks at a few slabs, so that no operation waits long. A program whose memory does not grow pays
 * nothing, and the pages that it frees stay. object_trim sweeps at once, and so does the keeper when a process falls
 * idle.
 *
 * The purger holds a slab attached while it works, as any holder does (partial_list.h). Nobody else expects that in an
 * epoch that ends, so a thread that counts or ends survivors keeps the purger out. Threads: any, inside its gate. */
#ifndef TSLAB_SLAB_HOLES_H
#define TSLAB_SLAB_HOLES_H

#include "slab/partial_list.h"

/* Begins a sweep when one is due, and continues one that is under way. Cheap when there is nothing to do. */
void holes_tick(void);

/* A step of a sweep that takes each free page. The first one begins it, also where another sweep is under way. Adds the
 * bytes given back to *purged. Returns whether more steps are to follow. */
bool holes_step(bool begins, size_t *purged);

/* Sweeps everything now, or what is of one epoch, which does not end meanwhile. Returns the bytes given back. */
size_t holes_purge_all(void);
size_t holes_purge_epoch(struct epoch *epoch);

/* Between the two, no slab is held by a purger. */
void holes_keep_out(void);
void holes_let_in(void);

#endif
