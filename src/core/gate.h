/* The gate of a thread: it tells a fork whether the thread is in the middle of an operation.
 *
 * A gate is a lock that only the thread itself and a forking thread take. Slow operations run inside it from start to
 * end, so a thread that has all gates knows that nothing is half done. The give of a single slot must be cheap and runs
 * outside. It notes its run first, and the child of a fork recounts the runs that are noted.
 *
 * Invariants: the owner enters its gate once at a time; no run 0 is ever noted.
 *
 * Threads: the owner. A forking thread takes `lock` alone, without is_inside. The card of the protocol is
 * docs/protocols/thread.md. */
#ifndef TSLAB_CORE_GATE_H
#define TSLAB_CORE_GATE_H

#include "os/fatal.h"
#include "os/lock.h"

struct gate {
    struct lock lock;
    bool is_inside;   /* the owner has the lock (a fork does not set it); private to the owner */
    atomic_u32 noted; /* the run of the single give that is under way, or of the last one; 0: none yet */
};

static inline void gate_lock(struct gate *gate)
{
    lock_acquire(&gate->lock);
    invariant(!gate->is_inside);
    gate->is_inside = true;
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
