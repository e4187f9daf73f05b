/* Each watch looks at no more than what cannot change meanwhile. */
#include "audit/watch.h"

#include "os/fatal.h"
#include "os/os.h"
#include "thread/keeper.h"

#if TSLAB_CHECKED

static size_t cut; /* threads, by forks */

void verify_cut(size_t threads)
{
    cut += threads;
}

void verify_if_alone(struct thread *self)
{
    if (!lock_try(&self->gate.lock)) {
        return;
    }
    lock_release(&self->gate.lock);
    if (!lock_try(&keeper.lock)) {
        return;
    }
    if (!lock_try(&registry.lock)) {
        lock_release(&keeper.lock);
        return;
    }
    gate_lock(&self->gate);
    if (registry.live == self && self->next == NULL) {
        enum { IN_HAND = 2 /* a resize frees and allocates */ };
        const size_t lost = verify_whole();
        invariant(lost <= IN_HAND * cut || os_has_threads()); /* threads without a record may be about to free */
        if (cut == 0 && !os_has_threads()) {
            verify_accounts();
        }
    }
    gate_unlock(&self->gate);
    lock_release(&registry.lock);
    lock_release(&keeper.lock);
}

void verify_at_fork(struct thread *self, uint32_t ranks, uint32_t dying)
{
    if (self != NULL && ranks == 0 && dying == 0 && lock_try(&self->gate.lock)) {
        verify_shared();
        lock_release(&self->gate.lock);
    }
}

void verify_often(struct thread *self)
{
    enum { OPERATIONS = 256, ROUNDS = 64 };
    static per_thread uint32_t operations;
    if (++operations % OPERATIONS != 0) {
        return;
    }
    gate_lock(&self->gate);
    verify_heap(&self->heap);
    for (const struct hold *hold = self->scope; hold != NULL; hold = hold->outer) {
        verify_cursor(&hold->real->cursor);
        if (hold->real->heap != NULL) {
            verify_heap(hold->real->heap);
        }
    }
    if (operations / OPERATIONS % ROUNDS == 0) {
        verify_depot();
    }
    gate_unlock(&self->gate);
}

#endif
