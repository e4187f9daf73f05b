/* Scopes: what threads do with epochs. Opening, entering and leaving, allocating, closing, releasing.
 *
 * A thread that is inside of an epoch has one of its holds. The innermost scope whose epoch takes plain malloc is where
 * plain malloc lands: front_current then is the hold's heap, or, while it fills chunks, the thread's scope heap, whose
 * magazines are empty for ever and which names the hold, so that the fast path finds its chunk.
 *
 * Who enters claims an idle hold, then looks at the epoch's word again; who closes changes the word, then claims idle
 * holds: one of the two sees the other. Who leaves makes the hold idle, then looks at the word; when it says CLOSED, it
 * claims the hold again as the closer would, and empties it. So whoever finds an idle hold of a closed epoch, empties
 * it, and the one who brings the word's count to 0 finishes the epoch.
 *
 * A thread has one hold of an epoch at most as a scope: to enter once more just counts. While it allocates with handles
 * it has one of the epoch that serves them, too, which it gives back first.
 *
 * Threads: any. Entering and leaving are outside of the gate: a fork may cut them anywhere, and its child finds by the
 * holds' words what threads that it does not have were in. All other functions enter the gate themselves. */
#ifndef TSLAB_CORE_SCOPE_H
#define TSLAB_CORE_SCOPE_H

#include "core/thread.h"

struct scope_options {
    const char *label;
    uint64_t parent, instance;
    enum tslab_policy policy;
    bool plain; /* plain malloc may land in it */
    bool is_instance;
    struct epoch *serves; /* for objects with handles: of this epoch, which is pinned for it */
};

/* Opens an epoch; its value, or 0: no memory. */
uint64_t scope_open(struct thread *thread, const struct scope_options *options);

int scope_enter(struct thread *thread, uint64_t value);
int scope_leave(struct thread *thread, uint64_t value);

/* As tslab_epoch_advance: *value becomes that of the next epoch. */
int scope_advance(struct thread *thread, uint64_t *value, bool reclaims, struct tslab_epoch_report *report);

/* The thread's plain malloc lands outside of any epoch, until as many times resumed; false: it was not paused. */
void scope_pause(struct thread *thread);
bool scope_resume(struct thread *thread);

/* The value of the innermost scope, 0 outside. */
uint64_t scope_value(const struct thread *thread);

/* The hold of an epoch that the thread entered, at whatever depth, and has not left; NULL: none. */
struct hold *scope_inside(const struct thread *thread, uint64_t value);

/* Whether there is one. */
bool scope_is_inside(const struct thread *thread, uint64_t value);

/* How many scopes the thread is inside of. */
uint32_t scope_count(const struct thread *thread);

/* Makes the epoch that serves the handles of `owner`, of which the caller has a hold, unless there is one by now. NULL:
 * no memory. */
struct epoch *scope_serve_handles(struct thread *thread, struct epoch *owner);

/* A hold of an epoch, for a short while, not as a scope; NULL with *status. And back. */
struct hold *scope_borrow(struct thread *thread, uint64_t value, int *status);
void scope_return(struct thread *thread, struct hold *hold);

/* Leaves all scopes of a thread that ends. */
void scope_leave_all(struct thread *thread);

#endif
