/* Threads as the engine knows them: a record each, on a registry; joining, leaving, and fork.
 *
 * A record holds the thread's gate: a lock that only the thread itself and fork take. Slow operations run inside it
 * from start to end, so that whoever has all gates knows that nothing is half done. A single give, which must be cheap,
 * runs outside; it notes the slab first, and the child of a fork recounts the noted slabs.
 *
 * A thread joins at its first allocation or free and leaves in the last round of thread-specific destructors. What it
 * frees after that goes straight to the slabs, what it allocates after that comes from a borrowed record. Where there
 * is no memory for a record, allocating fails, and to free, the last record is borrowed.
 *
 * The card of exit and fork is docs/protocols/thread.md. */
#ifndef TSLAB_CORE_THREAD_H
#define TSLAB_CORE_THREAD_H

#include "core/heap.h"
#include "os/lock.h"

struct work {
    uint32_t depth;     /* of units in units */
    uint32_t rotations; /* asked for, when the epoch was opened */
    uint32_t scopes;    /* that the thread was inside of when the outermost unit began */
    uint64_t units;     /* finished in the epoch */
    uint64_t epoch;     /* value; 0: none */
    uint64_t opened_ms;
};

/* What a record counts, also for the threads that it served before. */
struct thread_counters {
    atomic_u64 epochs_opened, epochs_closed; /* of users */
    atomic_u64 epochs_drained;               /* that had survivors, and which the thread then released and keeps warm */
    atomic_u64 work_units;                   /* ended */
};
struct survivors_line;

struct thread {
    struct lock gate;
    bool in_gate;               /* by the thread itself, not by a fork; private to it */
    atomic_u32 noted;           /* the slab of the single give that is under way, or of the last one */
    struct thread *prev, *next; /* live ones, or idle ones by next alone; under the registry's lock */
    struct thread_counters counters;
    struct heap heap; /* of the process epoch */

    /* What the thread is inside of (scope.h); private to it. */
    struct hold *scope;  /* the innermost */
    struct hold *echoes; /* struct holds for scopes that it enters once more (epoch.h), linked by outer */
    struct hold *remembered[REMEMBERED_HOLDS]; /* by index of the epoch: the one that it had last; maybe of another */
    uint32_t paused;                           /* so often: plain malloc lands outside */
    uint32_t warm_count;                       /* epochs that it keeps for its next ones, */
    struct epoch *warm;                        /* linked by next_idle, each with its chunk perhaps */

    struct survivors_line *line; /* of the verb that is under way: what it says when it has left the gate */

    /* The unit of work that it is in (work.h); private to it. */
    struct work work;

    /* The heap of a thread whose plain malloc fills a chunk: nothing is ever in its magazines. */
    struct heap scope_heap;
};

struct registry {
    _Alignas(CACHE_LINE) struct lock lock;
    struct thread *live;
    struct thread *idle;
    atomic_u32 live_count, record_count; /* without the last */
    struct lock last_lock;               /* held by whom the last record is lent to */
    struct thread *last;                 /* live once it was lent */
};

extern struct registry registry;

static inline void gate_lock(struct thread *thread)
{
    lock_acquire(&thread->gate);
    thread->in_gate = true;
}

static inline void gate_unlock(struct thread *thread)
{
    thread->in_gate = false;
    lock_release(&thread->gate);
}

/* Takes an idle record, or makes one, and registers it. NULL: no memory. */
struct thread *thread_open(void);

/* Sets the memory of one record aside, for what must be done also where there is none: a free. False: no memory. */
bool thread_reserve_last(void);

/* Lends the last record, to one thread at a time: others wait. */
struct thread *thread_open_last(void);

/* Empties the record's heap and makes the record idle, or ends the lending. */
void thread_close(struct thread *thread);

/* Fork: before it everything is brought to rest; after it, in the parent and in the child, it may go on. Then the
 * child, alone, takes leave for the threads that it does not have. `self` is the forking thread's record, or NULL. */
void thread_fork_prepare(struct thread *self);
void thread_fork_done(struct thread *self);
void thread_fork_child(struct thread *self);

#endif
