/* The ends of epochs: closing, releasing, and finishing.
 *
 * A closing thread changes the epoch's word and then empties the idle holds. A thread that leaves a closed epoch
 * empties its hold as the closing thread would have. The thread that brings the word's count to 0 finishes the epoch:
 * it treats the survivors by the epoch's policy, reports, and retires the record or leaves it to drain. Where nobody is
 * inside, close and release take all holds first and finish at one stroke.
 *
 * The card of the protocol is docs/protocols/epoch.md. Threads: any; what enters the gate itself says so. */
#ifndef TSLAB_CORE_ENDING_H
#define TSLAB_CORE_ENDING_H

#include "core/thread.h"

struct survivors_line;

/* As tslab_epoch_close and tslab_epoch_release; report may be NULL. They enter the gate. */
int ending_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);
int ending_release(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

/* Empties what is idle in a closed epoch, after a hold of it was made idle. Enters the gate. */
void ending_help(struct thread *thread, struct epoch *epoch);

/* The gate, around what may finish an epoch. A line that is to be said of survivors is written when the gate is open
 * again: the reader of stderr may be slow, and may need a fork or a new thread before it reads on. */
void ending_lock_gate(struct thread *thread, struct survivors_line *line);
void ending_unlock_gate(struct thread *thread);

/* The steps of a close, for one that opens another epoch on the way (scope_advance). In the gate.
 *
 * begin_report starts a report: until the epoch is finished, its survivors are what is alive now, recycled_bytes is all
 * the memory of the epoch, and what is resident counts as gone. mark_closed changes the word from OPEN to CLOSED.
 * freeze_holds: the closing thread gets nothing more from the holds that it has itself. complete empties what is idle.
 */
int ending_close_in_gate(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);
void ending_begin_report(struct epoch *epoch, bool reclaims, struct tslab_epoch_report *report);
int ending_mark_closed(struct epoch *epoch, uint64_t value, bool reclaims);
void ending_count(struct thread *thread, const struct epoch *epoch);
void ending_freeze_holds(struct thread *thread, struct epoch *epoch, uint64_t value);
int ending_complete(struct thread *thread, struct epoch *epoch, struct tslab_epoch_report *report);

#endif
