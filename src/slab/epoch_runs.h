/* The runs of an epoch: its slabs, chunks and large blocks, linked in its record. Each linked run pins the record: the
 * record cannot be used for another epoch while it has a pin.
 *
 * Owns: the list of runs, which the epoch's lock protects, and the retiring of a record whose last pin is dropped.
 *
 * Invariants: a run is linked before any thread could find it empty, and is unlinked before it goes to the depot.
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_SLAB_EPOCH_RUNS_H
#define TSLAB_SLAB_EPOCH_RUNS_H

#include "slab/epoch_record.h"

/* Links a used run to the epoch. The run pins the epoch. */
void epoch_link_run(struct epoch *epoch, uint32_t first);

/* Unlinks an empty run that the caller owns. The run still pins the epoch. */
void epoch_unlink_run(struct epoch *epoch, uint32_t first);

/* Unlinks a run, recycles it, and drops its pin. The run is empty, has no tags, and belongs to the caller. */
void epoch_recycle_run(struct epoch *epoch, uint32_t first);

/* The same for a chunk, whose tags it clears first. */
void epoch_recycle_chunk(struct epoch *epoch, uint32_t first);

/* Drops a pin. The last one retires the record. */
void epoch_unpin(struct epoch *epoch);

#endif
