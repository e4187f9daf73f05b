/* Scopes: opening epochs, entering and leaving them, and advancing from one to the next.
 *
 * A thread that is inside of an epoch has one of its holds. Plain malloc lands in the innermost scope whose epoch takes
 * it. front_current then is the front of the hold's heap, or, while the hold fills chunks, the thread's scope_front.
 * The magazines of that one are always empty, and it names the hold, so that the fast path finds its chunk.
 *
 * A thread has at most one hold of an epoch as a scope. To enter once more only counts.
 *
 * Invariants: the holder of each scope's hold is the thread, and a reentry lies above the hold that it stands for.
 *
 * Threads: any. Entering and leaving run outside of the gate: a fork may cut them anywhere, and its child finds by the
 * words of holds which ones vanished threads had. The other functions enter the gate themselves. */
#ifndef TSLAB_EPOCH_SCOPE_H
#define TSLAB_EPOCH_SCOPE_H

#include "thread/thread.h"

struct scope_options {
    const char *label;
    uint64_t parent, instance;
    enum tslab_policy policy;
    bool plain; /* plain malloc may land in the epoch */
    bool is_instance;
    uint32_t limit_units; /* the most units of the epoch's runs; 0: no limit */
};

/* Opens an epoch and returns its value. 0: no memory. */
uint64_t scope_open(struct thread *thread, const struct scope_options *options);

int scope_enter(struct thread *thread, uint64_t value);
int scope_leave(struct thread *thread, uint64_t value);

/* As tslab_epoch_advance: *value becomes that of the next epoch. */
int scope_advance(struct thread *thread, uint64_t *value, bool reclaims, struct tslab_epoch_report *report);

/* After a pause, the thread's plain malloc lands outside of any epoch until it has resumed as often as it paused.
 * scope_resume returns false if it was not paused. */
void scope_pause(struct thread *thread);
bool scope_resume(struct thread *thread);

/* The value of the innermost scope. 0: the thread is inside of nothing. */
uint64_t scope_value(const struct thread *thread);

/* The thread's hold of an epoch that it is inside of, at whatever depth. NULL: it is not inside of the epoch. */
struct hold *scope_inside(const struct thread *thread, uint64_t value);

/* How many scopes the thread is inside of. */
uint32_t scope_count(const struct thread *thread);

/* Borrows a hold of an epoch, not as a scope, and gives it back. NULL: *status says why there is none. */
struct hold *scope_borrow(struct thread *thread, uint64_t value, int *status);
void scope_return(struct thread *thread, struct hold *hold);

/* take empties one of the holds that the thread left, if it has an empty chunk, and returns its first unit; 0: none
 * has. drop empties all of them. In the gate. */
uint32_t scope_take_left(struct thread *thread);
void scope_drop_left(struct thread *thread);

/* Leaves all scopes, when the thread ends. */
void scope_leave_all(struct thread *thread);

#endif
