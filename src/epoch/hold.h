/* Holds: the places from which threads allocate in an epoch (epoch_record.h), one thread at a time in each.
 *
 * Here a thread finds a hold, makes it idle, or empties it. The consequences for the epoch are in ending.h. The order
 * of looks and claims is the protocol of docs/protocols/epoch.md.
 *
 * Invariants: only the holder uses a hold. A hold is TAKEN from before it is emptied until its record is opened again.
 *
 * Threads: any. hold_find enters the gate. The other functions run in the gate, except hold_make_idle and those of the
 * ambient hold, which each thread calls for itself. */
#ifndef TSLAB_EPOCH_HOLD_H
#define TSLAB_EPOCH_HOLD_H

#include "thread/thread.h"

/* Finds another hold of an open epoch than the one that the thread remembers. Claims it for the thread, which remembers
 * it from now on. The search starts behind the remembered hold, so that threads that meet in an epoch part. NULL: no
 * memory, or the epoch is closed. */
struct hold *hold_find(struct thread *thread, struct epoch *epoch, uint64_t value);

/* Makes a hold idle. True: the epoch is closed, and the caller must look for idle holds in it (ending_help). */
bool hold_make_idle(struct hold *hold);

/* Claims an idle hold for the closing thread. A failed claim, too, is a look at the hold that comes after the change of
 * the epoch's word. */
bool hold_claim_to_close(struct hold *hold);

/* Gives back all that a TAKEN hold keeps, except an empty chunk, and except a chunk whose objects are about to be
 * released. */
void hold_empty(struct thread *thread, struct epoch *epoch, struct hold *hold);

/* Takes and empties all idle holds. Returns how many. */
uint64_t hold_empty_idle(struct thread *thread, struct epoch *epoch);

/* Gives back the slots and slabs of a hold that the caller has, and keeps its heap for the thread's next scope that
 * needs one. In the gate. */
void hold_end_slabs(struct thread *thread, struct hold *hold);

/* Ends the slabs of an idle hold of an open epoch, and takes its chunk, if that is empty. Returns its first unit; 0:
 * there is none. *helps: the epoch is closed, and the caller must look for idle holds in it. In the gate. */
uint32_t hold_put_away(struct thread *thread, struct hold *hold, bool *helps);

/* Takes the hold's cursor off its chunk, in which objects live. The chunk is a full one of the hold from now on. Of
 * those from before it closes some in which other threads free. Returns whether objects die: in this chunk, or in
 * others that it looked at. In the gate. */
bool hold_end_chunk(struct hold *hold);

/* Closes the full chunks of a hold. They wait for the frees of their objects. In the gate. */
void hold_close_full(struct hold *hold);

/* Recycles the full chunk of one of the thread's holds that p lies in. The thread has freed all objects there. */
void hold_recycle_full(const void *p);

/* Frees an object of a chunk that a hold of the thread fills, or has filled. False: it is in no such chunk. p lies in a
 * chunk. */
always_inline bool hold_free(struct hold *hold, void *p)
{
    const uint32_t left = chunk_free_full(hold, p);
    if (likely(left - 1 < CHUNK_NOT_FULL - 1)) {
        return true;
    }
    if (left == 0) {
        hold_recycle_full(p);
        return true;
    }
    if (chunk_is_own(&hold->cursor, p)) {
        chunk_free_own(&hold->cursor, p);
        return true;
    }
    return false;
}

/* The ambient hold, in which plain malloc lands now: that of the innermost scope that takes plain malloc. NULL: the
 * process. */
always_inline struct hold *ambient_hold(const struct thread *thread)
{
    return thread->scope == NULL || thread->paused != 0 ? NULL : thread->scope->ambient;
}

/* Points the thread's front to where plain malloc lands now. */
always_inline void ambient_set_here(struct thread *thread)
{
    struct hold *const scope = thread->scope;
    struct hold *const ambient = ambient_hold(thread);
    struct front *front = &thread->heap.front;
    invariant(ambient == NULL || load_plain(&ambient->holder) == thread);
    if (ambient != NULL && load_plain(&ambient->heap) != NULL) {
        front = &load_plain(&ambient->heap)->front;
    } else if (ambient != NULL) {
        front = &thread->scope_front;
        if (unlikely(front->heap == NULL)) {
            thread_start_scope_front(thread);
        }
        front->filling = ambient;
    }
    invariant(front->thread == thread);
    front->innermost = scope == NULL ? &hold_none : scope->real;
    front_current = front;
}

/* The same as a call, for paths that are not hot. */
void ambient_set(struct thread *thread);

#endif
