/* A lock of one 32-bit word, whose waiters sleep on a futex, and that can carry a queue.
 *
 * word = HELD | WAITERS | (head << 2). The queue has items, by number, that were pushed by threads that may not wait
 * for the lock. The head is the number of its first item. The holder of the lock harvests the queue before it releases
 * the lock. The queue is empty unless HELD is set: releasing is one compare-and-swap of HELD to 0, which fails while
 * there is a queue. Because HELD and the queue share a word, no push can slip in between the holder's last look and
 * the release.
 *
 * WAITERS says that a thread may sleep on the word. Source: Drepper, "Futexes Are Tricky", the second mutex.
 *
 * Ranks (ranks.h) order the locks. A lock is valid when it is zeroed but for its rank. */
#ifndef TSLAB_OS_LOCK_H
#define TSLAB_OS_LOCK_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/ranks.h"

enum { LOCK_HELD = 1 }; /* in the word: a thread holds the lock */

struct lock {
    atomic_u32 word;
    uint32_t rank;
};

/* Checks and counts alone read the rank. Without them the tables of locks are zeroed data, which takes neither a place
 * in the file nor a page before it is written. */
#define LOCK_INIT(r)                                                                                                   \
    {                                                                                                                  \
        .rank = TSLAB_CHECKED || ATOMIC_IS_COUNTED ? (r) : 0                                                           \
    }

/* Sets which ranks the thread is recorded to hold, and returns the previous record: for code that runs in the middle of
 * an operation of the same thread and takes none of its locks. Where ranks are not checked, the record is empty. */
uint32_t lock_ranks_swap(uint32_t ranks);

/* Whether any thread holds the lock. For assertions of a caller that must be the holder. */
always_inline bool lock_is_held(const struct lock *lock)
{
    return (load_plain(&lock->word) & LOCK_HELD) != 0;
}

/* Takes the lock, and waits for it. */
void lock_acquire(struct lock *lock);

/* Takes the lock if it is free, and returns whether it did. Never waits. */
bool lock_try(struct lock *lock);

/* Releases a lock on which no thread pushes. */
void lock_release(struct lock *lock);

/* Releases the lock and returns 0. When the queue is not empty, it takes the whole queue instead and returns its head
 * (a number above 0) with the lock still held. Call it again until it returns 0. */
uint32_t lock_release_or_harvest(struct lock *lock);

/* Pushes number (above 0) on the queue of a held lock and returns false. If the lock is free by now, it takes the lock
 * and returns true, with number queued. Never waits. next receives the queue's previous head, and belongs to the queue
 * until the item is harvested. */
bool lock_push(struct lock *lock, uint32_t number, atomic_u32 *next);

#endif
