/* Taking a free lock and releasing it is one compare-and-swap each. A thread that waits spins for a while, then sets
 * WAITERS and sleeps on the word. Checked builds also verify the order of ranks. */
#include "os/lock.h"

#include "base/limits.h"
#include "base/probe.h"
#include "os/fatal.h"
#include "os/os.h"

enum { HELD = LOCK_HELD, WAITERS = 2, HEAD_SHIFT = 2 };

/* A free lock has no queue. */
#define IS_SOUND(word) (((word)&HELD) != 0 || (word) >> HEAD_SHIFT == 0)

per_thread uint32_t held_ranks;

static void rank_take(const struct lock *lock)
{
    const uint32_t above = lock->rank == RANK_GATE ? lock->rank + 1 : lock->rank;
    ATOMIC_COUNT(COUNTED_LOCKS + lock->rank);
    if (RANKS_CHECKED) {
        invariant(lock->rank != 0 && (held_ranks >> above) == 0);
        held_ranks |= 1u << lock->rank;
    }
}

static void rank_drop(const struct lock *lock)
{
    if (RANKS_CHECKED) {
        invariant(lock->rank == RANK_GATE || (held_ranks >> lock->rank & 1) != 0);
        held_ranks &= ~(1u << lock->rank);
    }
}

uint32_t lock_ranks_swap(uint32_t ranks)
{
    const uint32_t before = held_ranks;
    held_ranks = ranks;
    return before;
}

bool lock_try(struct lock *lock)
{
    invariant(lock->rank >= RANK_PROGRAM_THREADS && lock->rank <= RANK_META);
    uint32_t word = load_relaxed(&lock->word);
    if ((word & HELD) != 0 || !cas_acquire(&lock->word, &word, word | HELD)) {
        return false;
    }
    invariant(IS_SOUND(word));
    rank_take(lock);
    return true;
}

static noinline void lock_wait(struct lock *lock)
{
    uint32_t word = load_relaxed(&lock->word);
    PROBE1(lock_wait, lock);
    for (int spins = 0; spins < LOCK_SPINS; spins++) {
        if ((word & HELD) == 0 && cas_acquire(&lock->word, &word, word | HELD)) {
            return;
        }
        cpu_relax();
        word = load_relaxed(&lock->word);
    }
    for (;;) {
        if ((word & HELD) == 0) {
            /* Other threads may still sleep, and the thread that woke this one cleared the flag: set it again. */
            if (cas_acquire(&lock->word, &word, word | HELD | WAITERS)) {
                return;
            }
        } else if ((word & WAITERS) != 0 || cas_acquire(&lock->word, &word, word | WAITERS)) {
            os_futex_wait(&lock->word, word | WAITERS, 0);
            word = load_relaxed(&lock->word);
        }
    }
}

void lock_acquire(struct lock *lock)
{
    invariant(lock->rank >= RANK_PROGRAM_THREADS && lock->rank <= RANK_META);
    uint32_t word = 0;
    if (unlikely(!cas_acquire(&lock->word, &word, HELD))) {
        lock_wait(lock);
    }
    invariant(lock_is_held(lock));
    rank_take(lock);
}

uint32_t lock_release_or_harvest(struct lock *lock)
{
    uint32_t word = load_relaxed(&lock->word);
    for (;;) {
        invariant((word & HELD) != 0);
        if ((word >> HEAD_SHIFT) != 0) {
            if (cas_acquire(&lock->word, &word, word & (HELD | WAITERS))) {
                return word >> HEAD_SHIFT;
            }
        } else if (cas_release(&lock->word, &word, 0)) {
            invariant(word >> HEAD_SHIFT == 0);
            rank_drop(lock);
            if (unlikely((word & WAITERS) != 0)) {
                os_futex_wake_one(&lock->word);
            }
            return 0;
        }
    }
}

void lock_release(struct lock *lock)
{
    const uint32_t head = lock_release_or_harvest(lock);
    invariant(head == 0);
    (void)head;
}

bool lock_push(struct lock *lock, uint32_t number, atomic_u32 *next)
{
    invariant(number != 0 && number <= UINT32_MAX >> HEAD_SHIFT);
    uint32_t word = load_relaxed(&lock->word);
    for (;;) {
        store_relaxed(next, word >> HEAD_SHIFT);
        const uint32_t pushed = (number << HEAD_SHIFT) | (word & WAITERS) | HELD;
        const uint32_t found = word;
        if (cas_acq_rel(&lock->word, &word, pushed)) {
            invariant(IS_SOUND(found));
            if ((found & HELD) != 0) {
                return false;
            }
            rank_take(lock);
            return true;
        }
    }
}
