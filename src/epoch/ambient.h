/* The ambient of a thread: the place where its plain malloc lands. It is the hold of the innermost scope that takes
 * plain malloc, or the process.
 *
 * Invariants: the ambient hold's holder is the thread; the thread's front names the thread.
 *
 * Threads: each for itself. No gate. */
#ifndef TSLAB_EPOCH_AMBIENT_H
#define TSLAB_EPOCH_AMBIENT_H

#include "os/fatal.h"
#include "thread/thread.h"

/* The hold in which plain malloc lands now. NULL: the process. */
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
    if (ambient != NULL && ambient->heap != NULL) {
        front = &ambient->heap->front;
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
