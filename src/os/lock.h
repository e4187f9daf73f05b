/* A lock of one 32-bit word that sleeps on a futex, and that can carry a queue.
 *
 * word = HELD | WAITERS | (head << 2). The head names the first of a queue of numbered things that somebody pushed
 * while the lock was held, because he must not wait for it; whoever holds the lock harvests the queue before he lets
 * go. The queue is non-empty only while HELD: releasing is one compare-and-swap of HELD to 0, which fails while there
 * is a queue. Because holding and queueing are the same word, no push can slip in between the last look and the
 * release.
 *
 * WAITERS says that somebody may sleep on the word. Source: Drepper, "Futexes Are Tricky", the second mutex.
 *
 * Ranks order the locks: a thread takes a lock only while all that it holds have a lower rank (checked builds check it;
 * gates may be taken several at once, by fork). A lock is valid when zeroed but for its rank. */
#ifndef TSLAB_OS_LOCK_H
#define TSLAB_OS_LOCK_H

#include "base/atomic.h"
#include "base/bits.h"

enum lock_rank {
    RANK_START = 1, /* the engine's start */
    RANK_LAST,      /* the last record */
    RANK_REGISTRY,  /* the list of threads and heaps */
    RANK_GATE,      /* a thread's slow operations, against fork */
    RANK_LABELS,    /* the table of a report */
    RANK_SWEEP,     /* the one who looks for free pages in used slabs */
    RANK_LIST,      /* a list of partial slabs */
    RANK_RUNS,      /* the runs of an epoch */
    RANK_EPOCHS,    /* idle records of epochs */
    RANK_PURGE,     /* the one who gives pages back */
    RANK_TRAP,      /* trapped runs */
    RANK_DEPOT,     /* empty runs */
    RANK_HEAPS,     /* the heaps of epochs that are in use */
    RANK_META,      /* memory for the engine's own records */
};

struct lock {
    atomic_u32 word;
    uint32_t rank;
};

#define LOCK_INIT(r)                                                                                                   \
    {                                                                                                                  \
        .rank = (r)                                                                                                    \
    }

/* Sets which ranks the thread is said to hold, and returns what was said before: for what runs in the middle of an
 * operation of the same thread and takes none of its locks. 0 where ranks are not checked. */
uint32_t lock_ranks_swap(uint32_t ranks);

void lock_acquire(struct lock *lock);
bool lock_try(struct lock *lock);

/* Lets go of a lock that nobody pushes on. */
void lock_release(struct lock *lock);

/* Lets go of the lock and returns 0; or, when something is queued, takes the whole queue and returns its head (a number
 * above 0) with the lock still held. Call again until it returns 0. */
uint32_t lock_release_or_harvest(struct lock *lock);

/* Pushes number (above 0) on the queue and returns false, or, if the lock is free by now, returns true with the lock
 * held and number queued. Never waits. next receives the queue's previous head; it belongs to the queue until
 * harvested. */
bool lock_push(struct lock *lock, uint32_t number, atomic_u32 *next);

#endif
