/* Scopes: what threads do with epochs. Opening, entering and leaving, allocating, closing, releasing.
 *
 * A thread that is inside of an epoch has one of its holds. The innermost scope whose epoch takes plain malloc is where
 * plain malloc lands: heap_current then is the hold's heap, or, while it fills chunks, the thread's scope heap, whose
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

/* As tslab_epoch_close and tslab_epoch_release; report may be NULL. */
int scope_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);
int scope_release(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

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

/* The root epoch of an instance by value; NULL when there is no such instance. */
struct epoch *instance_epoch(uint64_t value);

/* Allocates from a hold of the caller's. *zero: it reads as zero. NULL: no memory, or the epoch is closed. */
void *scope_alloc(struct thread *thread, struct hold *hold, size_t size, size_t alignment, bool *zero);

/* A slot of a slab of the hold's epoch, aligned to a power of two of at most UNIT_BYTES. */
void *scope_alloc_slot(struct thread *thread, struct hold *hold, size_t size, size_t alignment);

/* Allocates in an epoch by value. NULL: no memory, or *status says why not. */
void *scope_alloc_in(struct thread *thread, uint64_t value, size_t size, size_t alignment, bool *zero, int *status);

/* Makes the epoch that serves the handles of `owner`, of which the caller has a hold, unless there is one by now. NULL:
 * no memory. */
struct epoch *scope_serve_handles(struct thread *thread, struct epoch *owner);

/* A hold of an epoch, for a short while, not as a scope; NULL with *status. And back. */
struct hold *scope_borrow(struct thread *thread, uint64_t value, int *status);
void scope_return(struct thread *thread, struct hold *hold);

/* Frees an object of a chunk, or a large run of an epoch. */
void scope_free_chunk(struct thread *thread, void *p);
void scope_free_run(struct thread *thread, struct epoch *epoch, void *p);

/* large_resize for such a run. In the gate. */
bool scope_resize_run(struct epoch *epoch, void *p, size_t size);

/* Leaves all scopes of a thread that ends. */
void scope_leave_all(struct thread *thread);

/* Puts away the warm epochs. In the gate. */
void scope_flush(struct thread *thread);

/* Takes leave for the threads that the child of a fork does not have, and ends what they were cut in. Returns the
 * epochs that are closed and perhaps nobody is inside of any more, linked: scope_fork_close empties and finishes them,
 * as soon as no lock of the fork's is held. */
struct epoch *scope_fork_child(struct thread *self);
void scope_fork_close(struct thread *self, struct epoch *closed);

/* Whether plain malloc is ours: the drop-in says so. */
extern bool scope_malloc_is_ours;

#endif
