/* The gate of a thread: it tells a fork whether the thread is in the middle of an operation.
 *
 * A gate is a lock. The thread itself takes it for each slow operation, from start to end. Three others take it: a
 * forking thread and a thread that switches a profile on, which take all gates and then know that nothing is half done,
 * and the keeper, which only tries. The give of a single slot must be cheap and runs outside. It notes its run first,
 * and the child of a fork recounts the runs that are noted.
 *
 * Invariants: the owner enters its gate once at a time. Run 0 is never noted.
 *
 * Threads: the owner. The others take `lock` alone, without is_inside. The card of the protocol is
 * docs/protocols/thread.md. */
#ifndef TSLAB_THREAD_GATE_H
#define TSLAB_THREAD_GATE_H

#include "os/fatal.h"
#include "os/lock.h"

struct gate {
    struct lock lock;
    bool is_inside;   /* the owner has the lock (a fork does not set it); private to the owner */
    bool is_barred;   /* the keeper has put bars into magazines (idle.h), or taken slots. With the lock */
    atomic_u32 noted; /* the run of the single give that is under way, or of the last one; 0: none yet */
};

/* Makes the owner's magazines whole, if the keeper took something of them (idle.h). */
void gate_unbar(struct gate *gate);

static inline void gate_lock(struct gate *gate)
{
    lock_acquire(&gate->lock);
    invariant(!gate->is_inside);
    gate->is_inside = true;
    if (unlikely(gate->is_barred)) {
        gate_unbar(gate);
    }
}

static inline void gate_unlock(struct gate *gate)
{
    invariant(gate->is_inside);
    gate->is_inside = false;
    lock_release(&gate->lock);
}

/* Notes a run before the two writes of a give. If a fork cuts the thread between them, the child recounts the run. */
static inline void gate_note(struct gate *gate, uint32_t run)
{
    invariant(run != 0);
    store_relaxed(&gate->noted, run);
}

#endif
