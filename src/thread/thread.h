/* Threads as the engine knows them: one record for each thread, in a registry.
 *
 * A record holds the thread's gate (gate.h), its heap of the process, the scopes that it is inside of, and the records
 * of epochs that it keeps warm.
 *
 * A thread joins at its first allocation or free and leaves in its thread-specific destructor. Afterwards it frees
 * straight to the slabs, and allocates by a borrowed record. Where there is no memory for a record, an allocation
 * fails, and a free borrows the last record, which was set aside at the start.
 *
 * Invariants: an idle record has an empty heap, no scope, no hold that it left, no warm epochs and no unit of work.
 *
 * Threads: any for the registry. A record is for its own thread. The card of exit and fork is
 * docs/protocols/thread.md. */
#ifndef TSLAB_THREAD_THREAD_H
#define TSLAB_THREAD_THREAD_H

#include "thread/gate.h"
#include "thread/heap.h"

struct work_unit {
    uint32_t depth;     /* how many units the thread is inside of */
    uint32_t rotations; /* how many rotations had been asked for when the epoch was opened */
    uint32_t scopes;    /* how many scopes the thread was inside of when the outermost unit began */
    uint64_t units;     /* units that ended in the epoch */
    uint64_t epoch;     /* the value of the epoch of the units; 0: none */
    uint64_t opened_ms;
};

/* Counts of a record, over all threads that it has served. */
struct thread_counters {
    atomic_u64 epochs_opened, epochs_closed;
    atomic_u64 epochs_drained; /* epochs that had survivors, and that the thread then released and keeps warm */
    atomic_u64 work_units;     /* units of work that ended */
};

/* Counts of the record's heap when its present thread joined. */
struct thread_before {
    atomic_u64 allocations, frees, misses, refills, flushes;
};

/* The survivors of an epoch, as they are reported on stderr. objects 0: there are none. */
struct survivors_line {
    uint64_t epoch; /* its value */
    uint64_t objects, bytes;
    char label[LABEL_BYTES];
};

/* A hold that the thread left, perhaps another's by now, and the bytes of its free slots and empty chunk. NULL: none.
 */
struct left_hold {
    struct hold *hold;
    uint32_t bytes;
    bool has_chunk; /* an empty one */
};

struct thread {
    struct gate gate;
    struct thread *prev, *next; /* in the list of live records, or, by next alone, of idle ones; the registry's lock */
    struct thread_counters counters;

    /* The scopes of the thread (scope.h); private to it. */
    struct hold *scope;                /* the innermost scope; NULL: the thread is inside of nothing */
    struct hold *reentries;            /* unused reentries (epoch_record.h), linked by outer */
    struct left_hold left[LEFT_HOLDS]; /* the holds that it left with something, the last one first */
    struct heap *idle_heaps;           /* empty heaps for the scopes that go over to slabs, linked by next_idle */
    struct hold *remembered[REMEMBERED_HOLDS]; /* the hold that it had last, by index of the epoch, maybe of another */
    uint32_t paused;                           /* pauses not yet resumed; above 0, plain malloc lands in the process */
    uint32_t warm_count;                       /* the number of warm epochs */
    atomic_u32 number;  /* the system's, of the thread that the record serves; 0: none, or only for a while */
    bool is_sampling;   /* the thread reads its call stack (sampling.h) */
    struct epoch *warm; /* the list of warm epochs, linked by next_idle */

    struct survivors_line line; /* what an ending verb writes after it has left the gate */

    /* The unit of work that the thread is in (work_unit.h); private to it. */
    struct work_unit work;

    struct thread *made_before; /* the record that was made before this one; never changes */
    struct thread_before before;

    struct heap heap; /* the thread's heap of the process epoch. Most of it is touched class by class (heap_use) */

    /* The front while plain malloc fills a chunk. Its magazines are always empty. It is started at the first such scope
     * (`heap` is NULL until then), so that threads that have none do not touch it. */
    struct front scope_front;
};

struct registry {
    _Alignas(CACHE_LINE) struct lock lock;
    struct thread *live;
    struct thread *idle;
    _Atomic(struct thread *)
        made;                /* the record that was made last, for walks over all that there are, without a lock */
    atomic_u32 record_count; /* without the last record */
    struct lock last_lock;   /* held by the thread that has borrowed the last record */
    struct thread *last;     /* the last record. It is in the list of live ones once it was lent */
};

extern struct registry registry;

void thread_start_scope_front(struct thread *thread);

/* Takes an idle record or makes one, and registers it. A thread that begins gets one whose heap rests, if there is one.
 * NULL: no memory. */
struct thread *thread_open(bool begins);

/* Notes which thread the record serves from now on, and what was counted before. */
void thread_number(struct thread *thread);

/* Sets aside the memory of the last record, for a free that finds no memory for a record. False: no memory. */
bool thread_reserve_last(void);

/* Lends the last record to one thread at a time. Other threads wait. */
struct thread *thread_open_last(void);

/* Warm epochs: a few FREE records that a thread keeps for the epochs that it opens next, each perhaps with an empty
 * chunk. take returns NULL when there is none. keep wants room. flush runs in the gate, the others need none. */
static inline bool thread_has_room_for_warm(const struct thread *thread)
{
    return thread->warm_count < WARM_EPOCHS;
}

/* Where epochs are opened by one thread and ended by another, warm ones go from thread to thread several at a time.
 * pass gives all but one of a full thread's to any thread (false: there are enough), and fetch takes such ones for a
 * thread without any. In the gate. */
bool thread_pass_warm(struct thread *thread);
void thread_fetch_warm(struct thread *thread);

struct epoch *thread_take_warm(struct thread *thread);
void thread_keep_warm(struct thread *thread, struct epoch *epoch);
void thread_flush_warm(struct thread *thread);

/* Puts the hot runs of all other threads into the depot, but of those that are in a slow operation. In a gate. */
void thread_flush_others(const struct thread *self);

/* Empties a record of a thread that is inside of nothing. Then makes it idle, or, if it is the last, ends the lending.
 */
void thread_close(struct thread *thread);

/* The same, but the heap may rest instead, for a thread that begins. */
void thread_leave(struct thread *thread);

#endif
