/* Threads as the engine knows them: a record each, on a registry.
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

#include "core/gate.h"
#include "core/heap.h"

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
    struct gate gate;
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

    /* The front of a thread whose plain malloc fills a chunk: nothing is ever in its magazines. */
    struct front scope_front;
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

/* Takes an idle record, or makes one, and registers it. NULL: no memory. */
struct thread *thread_open(void);

/* Sets the memory of one record aside, for what must be done also where there is none: a free. False: no memory. */
bool thread_reserve_last(void);

/* Lends the last record, to one thread at a time: others wait. */
struct thread *thread_open_last(void);

/* Warm epochs: a few FREE records, each perhaps with an empty chunk, that a thread keeps for the epochs that it opens
 * next. take returns NULL when there is none; keep wants room. No gate, but for flush: in the gate. */
enum { WARM_EPOCHS = 4 };

static inline bool thread_has_room_for_warm(const struct thread *thread)
{
    return thread->warm_count < WARM_EPOCHS;
}

struct epoch *thread_take_warm(struct thread *thread);
void thread_keep_warm(struct thread *thread, struct epoch *epoch);
void thread_flush_warm(struct thread *thread);

/* Empties the record, and makes it idle, or ends the lending. */
void thread_close(struct thread *thread);

#endif
