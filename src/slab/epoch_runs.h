/* The runs of an epoch, and the pins of its record: each linked run is one.
 *
 * Owns: the list of runs, under the epoch's lock, and the end of a record whose last pin is dropped.
 *
 * Invariants: a run is linked before any thread could find it empty, and is unlinked before it goes to the depot.
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_SLAB_EPOCH_RUNS_H
#define TSLAB_SLAB_EPOCH_RUNS_H

#include "slab/epoch_record.h"

/* Links a used run to the epoch. The run pins the epoch. */
void epoch_link_run(struct epoch *epoch, uint32_t first);

/* Unlinks a run that is empty and the caller's. It still pins the epoch. */
void epoch_unlink_run(struct epoch *epoch, uint32_t first);

/* Unlinks a run, recycles it, and drops its pin. The run is empty, has no tags any more, and is the caller's. */
void epoch_recycle_run(struct epoch *epoch, uint32_t first);

/* The same for a chunk. Clears its tags. */
void epoch_recycle_chunk(struct epoch *epoch, uint32_t first);

/* Drops a pin. The last one retires the record. */
void epoch_unpin(struct epoch *epoch);

#endif
