/* The ends of epochs: closing, releasing and finishing; and of instances, whose epochs end with their root.
 *
 * A closing thread changes the epoch's word and then empties the idle holds. A thread that leaves a closed epoch
 * empties its hold as the closing thread would have. The thread that brings the word's count to 0 finishes the epoch:
 * it treats the survivors by the epoch's policy, reports, and retires the record or leaves it to drain. If no thread is
 * inside, close and release take all holds first and finish the epoch with one compare-and-swap.
 *
 * Invariants: only the thread that brought the count to 0 finishes an epoch, and then all its holds are TAKEN.
 *
 * The card of the protocol is docs/protocols/epoch.md. Threads: any. A function that enters the gate says so. The
 * others run in the gate. */
#ifndef TSLAB_EPOCH_ENDING_H
#define TSLAB_EPOCH_ENDING_H

#include "thread/thread.h"

/* As tslab_epoch_close and tslab_epoch_release. report may be NULL. They enter the gate. */
int ending_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);
int ending_release(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

/* Empties the idle holds of a closed epoch, after a hold of it was made idle. Enters the gate. */
void ending_help(struct thread *thread, struct epoch *epoch);
void ending_help_in_gate(struct thread *thread, struct epoch *epoch);

/* Leaves the gate after a verb that may have finished an epoch. A line about survivors is written after that: the
 * reader of stderr may be slow, and may need a fork or a new thread before it reads on. */
void ending_unlock_gate(struct thread *thread);

/* The steps of a close, for scope_advance. In the gate. */

/* Starts a report. Until the epoch is finished, the survivors are all objects that are alive now, recycled_bytes is all
 * memory of the epoch, and all resident memory counts as gone. */
void ending_begin_report(struct epoch *epoch, bool reclaims, struct tslab_epoch_report *report);

/* Changes the word from OPEN to CLOSED. Returns TSLAB_STALE or TSLAB_CLOSED when another thread was first. */
int ending_mark_closed(struct thread *thread, struct epoch *epoch, uint64_t value, bool reclaims);

/* Freezes the caller's own holds of an epoch that it has marked closed, empties the idle ones, and drops the caller's
 * share. */
int ending_complete(struct thread *thread, struct epoch *epoch, uint64_t value, struct tslab_epoch_report *report);

/* The root epoch of the instance with this value. NULL: there is no such instance. No gate. */
struct epoch *instance_root(uint64_t value);

/* As tslab_instance_close. report may be NULL. It enters the gate. */
int instance_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

#endif
