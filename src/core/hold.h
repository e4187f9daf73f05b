/* Holds: the places from which threads allocate in an epoch (epoch.h), one thread each at a time.
 *
 * Who finds, empties or idles a hold does it here; what follows for the epoch is ending.h's. The order of looks and
 * claims is the protocol: docs/protocols/epoch.md.
 *
 * Threads: any. hold_find enters the gate; the others want it, but for hold_make_idle. */
#ifndef TSLAB_CORE_HOLD_H
#define TSLAB_CORE_HOLD_H

#include "core/thread.h"

/* Another hold of an open epoch than the one that the thread remembers, claimed for the thread and remembered from now
 * on. It looks behind the old one first, so that threads that meet in an epoch part. NULL: no memory, or it is closed.
 */
struct hold *hold_find(struct thread *thread, struct epoch *epoch, uint64_t value);

/* Makes a hold idle. True: the epoch is closed, and the caller looks for idle holds in it (ending_help). */
bool hold_make_idle(struct hold *hold);

/* Claims an idle hold for the closing thread. Also where that fails, it is a look at the hold that comes after the
 * change of the epoch's word. */
bool hold_claim_to_close(struct hold *hold);

/* Gives back all that a hold keeps, but for an empty chunk, and for what is about to be released. The hold is TAKEN. */
void hold_empty(struct epoch *epoch, struct hold *hold);

/* Takes and empties all holds that nobody is in; returns how many. */
uint64_t hold_empty_idle(struct epoch *epoch);

/* Takes the hold off its chunk, which has objects that live: it waits for their frees. */
void hold_seal_chunk(struct epoch *epoch, struct cursor *cursor);

#endif
