/* Where a thread's plain malloc lands: in the hold of the innermost scope that takes plain malloc, or in the process.
 *
 * Threads: each for itself. No gate. */
#ifndef TSLAB_CORE_AMBIENT_H
#define TSLAB_CORE_AMBIENT_H

#include "core/thread.h"

/* The hold in which plain malloc lands now; NULL: the process. */
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
    if (ambient != NULL && ambient->heap != NULL) {
        front = &ambient->heap->front;
    } else if (ambient != NULL) {
        front = &thread->scope_front;
        front->filling = ambient;
    }
    front->innermost = scope == NULL ? &hold_none : scope->real;
    front_current = front;
}

/* The same, where few come by. */
void ambient_set(struct thread *thread);

#endif
