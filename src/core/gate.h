/* The gate of a thread: what a fork needs to know of the operations that the thread is in.
 *
 * A gate is a lock that only the thread itself and a forking thread take. Slow operations run inside it from start to
 * end, so a thread that has all gates knows that nothing is half done. A single give, which must be cheap, runs
 * outside: it notes its run first, and the child of a fork recounts what is noted.
 *
 * Threads: the owner; a fork takes `lock` alone. The card is docs/protocols/thread.md. */
#ifndef TSLAB_CORE_GATE_H
#define TSLAB_CORE_GATE_H

#include "os/lock.h"

struct gate {
    struct lock lock;
    bool is_inside;   /* the owner is, and not a fork; private to the owner */
    atomic_u32 noted; /* the run of the single give that is under way, or of the last one; 0: none */
};

static inline void gate_lock(struct gate *gate)
{
    lock_acquire(&gate->lock);
    gate->is_inside = true;
}

static inline void gate_unlock(struct gate *gate)
{
    gate->is_inside = false;
    lock_release(&gate->lock);
}

/* Before the two writes of a give: the child of a fork that cuts the thread between them recounts the run. */
static inline void gate_note(struct gate *gate, uint32_t run)
{
    store_relaxed(&gate->noted, run);
}

#endif
