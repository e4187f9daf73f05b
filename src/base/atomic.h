/* Atomic operations with the memory order in the name.
 *
 * In the simulation build (TSLAB_SIM=1) every operation starts with a point where the deterministic scheduler may
 * switch to another thread. So the protocols are explored in the code that ships. There are no standalone fences:
 * orders are properties of operations, which ThreadSanitizer can see.
 *
 * Three kinds of access are no scheduling points:
 *
 *   load_plain, store_plain   relaxed. For words that no other thread writes meanwhile (the caller owns them, or holds
 *                             the lock that guards them), and for readers that accept any recent value
 *   counter_...               the same for counts. get, set, add and sub need one writer at a time; add_shared and
 *                             raise allow several
 *   owned_...                 for words that one thread writes on its fast path */
#ifndef TSLAB_BASE_ATOMIC_H
#define TSLAB_BASE_ATOMIC_H

#include "base/build.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define TSLAB_TSAN 1
#elif defined(__has_feature)
#define TSLAB_TSAN __has_feature(thread_sanitizer)
#else
#define TSLAB_TSAN 0
#endif

#if TSLAB_SIM
void sim_point(void);
#endif
#if TSLAB_SIM && !defined(TSLAB_SIM_RIG) /* accesses by the simulation's own code are no steps of the engine */
#define ATOMIC_POINT() sim_point()
#else
#define ATOMIC_POINT() ((void)0)
#endif

/* The counted build counts for each thread what costs a locked instruction: read-modify-writes, stores that are seq_cst
 * (x86-64 makes an exchange of them), and, behind these, the locks that the thread takes, by rank (tests/golden). */
#ifdef TSLAB_COUNTED
enum { COUNTED_RMW, COUNTED_STORE, COUNTED_LOCKS, COUNTED_MOST = COUNTED_LOCKS + 32 };
extern _Thread_local uint64_t counted[COUNTED_MOST];
#define ATOMIC_IS_COUNTED  1
#define ATOMIC_COUNT(what) ((void)counted[what]++)
#else
#define ATOMIC_IS_COUNTED  0
#define ATOMIC_COUNT(what) ((void)0)
#endif
#define ATOMIC_RMW_POINT() (ATOMIC_POINT(), ATOMIC_COUNT(COUNTED_RMW))

#define load_relaxed(p) (ATOMIC_POINT(), atomic_load_explicit((p), memory_order_relaxed))
#define load_acquire(p) (ATOMIC_POINT(), atomic_load_explicit((p), memory_order_acquire))
#define load_seq_cst(p) (ATOMIC_POINT(), atomic_load_explicit((p), memory_order_seq_cst))

#define store_relaxed(p, v) (ATOMIC_POINT(), atomic_store_explicit((p), (v), memory_order_relaxed))
#define store_release(p, v) (ATOMIC_POINT(), atomic_store_explicit((p), (v), memory_order_release))
#define store_seq_cst(p, v)                                                                                            \
    (ATOMIC_POINT(), ATOMIC_COUNT(COUNTED_STORE), atomic_store_explicit((p), (v), memory_order_seq_cst))

#define swap_acquire(p, v) (ATOMIC_RMW_POINT(), atomic_exchange_explicit((p), (v), memory_order_acquire))
#define swap_seq_cst(p, v) (ATOMIC_RMW_POINT(), atomic_exchange_explicit((p), (v), memory_order_seq_cst))

#define fetch_add_seq_cst(p, v) (ATOMIC_RMW_POINT(), atomic_fetch_add_explicit((p), (v), memory_order_seq_cst))
#define fetch_sub_seq_cst(p, v) (ATOMIC_RMW_POINT(), atomic_fetch_sub_explicit((p), (v), memory_order_seq_cst))
#define fetch_sub_relaxed(p, v) (ATOMIC_RMW_POINT(), atomic_fetch_sub_explicit((p), (v), memory_order_relaxed))
#define fetch_add_relaxed(p, v) (ATOMIC_RMW_POINT(), atomic_fetch_add_explicit((p), (v), memory_order_relaxed))

/* Compare-and-swap. True: *p was *expected and is now v. False: *expected receives the value that was found. */
#define cas_acquire(p, expected, v)                                                                                    \
    (ATOMIC_RMW_POINT(),                                                                                               \
     atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire, memory_order_relaxed))
#define cas_release(p, expected, v)                                                                                    \
    (ATOMIC_RMW_POINT(),                                                                                               \
     atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_release, memory_order_relaxed))
#define cas_acq_rel(p, expected, v)                                                                                    \
    (ATOMIC_RMW_POINT(),                                                                                               \
     atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_relaxed))

/* A failed one is a seq_cst load, which the other side of a pair may rely on. */
#define cas_seq_cst(p, expected, v)                                                                                    \
    (ATOMIC_RMW_POINT(),                                                                                               \
     atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_seq_cst, memory_order_seq_cst))

#define load_plain(p)     atomic_load_explicit((p), memory_order_relaxed)
#define store_plain(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)

/* No scheduling points either: for counts that several threads change. */
#define fetch_add_plain(p, v) (ATOMIC_COUNT(COUNTED_RMW), atomic_fetch_add_explicit((p), (v), memory_order_relaxed))
#define cas_plain(p, expected, v)                                                                                      \
    (ATOMIC_COUNT(COUNTED_RMW),                                                                                        \
     atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_relaxed, memory_order_relaxed))

#define counter_get(p)           load_plain(p)
#define counter_set(p, v)        store_plain((p), (v))
#define counter_add(p, v)        counter_set((p), counter_get(p) + (v))
#define counter_sub(p, v)        counter_set((p), counter_get(p) - (v))
#define counter_add_shared(p, v) ((void)fetch_add_plain((p), (v)))

/* Adds 1 to a word that only its owner writes, while other threads may read it at any time. True: its highest bit is
 * set, or would be, and nothing is added. Another thread may set that bit. On x86-64 the addition sets the flag that
 * the branch looks at, and is taken back if the branch is taken. */
static inline bool owned_count(uint32_t *word)
{
#if defined(__x86_64__) && !TSLAB_SIM && !TSLAB_TSAN
    bool is_negative;
    __asm__("addl $1, %0" : "+m"(*word), "=@ccs"(is_negative));
    if (__builtin_expect(is_negative, 0)) {
        __asm__("subl $1, %0" : "+m"(*word) : : "cc");
    }
    return is_negative;
#else
    /* Elsewhere the thread may be cut off between a load and a store, and a stop be lost: so one operation. */
    uint32_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
    const uint32_t next = found + 1;
    return (int32_t)next < 0 ||
           !__atomic_compare_exchange_n(word, &found, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

static inline void owned_set(uint64_t *word, uint64_t v)
{
    __atomic_store_n(word, v, __ATOMIC_RELAXED);
}

static inline uint64_t owned_get(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* The same for a word of any type: the owner reads it plainly and writes it after all its writes before, so that a fork
 * that cuts the owner off finds them. Other threads read it by owned_load. */
#define owned_load(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define owned_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* For another thread that changes such a word after agreement with the owner (thread/idle.h). */
#define owned_acquire(p) (ATOMIC_POINT(), __atomic_load_n((p), __ATOMIC_ACQUIRE))
#define owned_swap(p, v) (ATOMIC_RMW_POINT(), __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL))
#define owned_cas(p, expected, v)                                                                                      \
    (ATOMIC_RMW_POINT(), __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
/* The owner's read of a word that others may change, where an instruction more would cost too much. */
#if TSLAB_SIM || TSLAB_TSAN
#define owned_compare(p, v) (__atomic_load_n((p), __ATOMIC_RELAXED) == (v))
#else
#define owned_compare(p, v) (*(p) == (v)) /* compilers read no atomic in a comparison */
#endif
/* For a word that an owned_store behind it makes known. */
#define owned_write(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

typedef _Atomic(uint8_t) atomic_u8;
typedef _Atomic(uint16_t) atomic_u16;
typedef _Atomic(uint32_t) atomic_u32;
typedef _Atomic(uint64_t) atomic_u64;

/* Sets or clears bits of a word that other threads change as well. Returns the word's previous value. */
#define fetch_or_plain(p, v)  (ATOMIC_COUNT(COUNTED_RMW), atomic_fetch_or_explicit((p), (v), memory_order_relaxed))
#define fetch_and_plain(p, v) (ATOMIC_COUNT(COUNTED_RMW), atomic_fetch_and_explicit((p), (v), memory_order_relaxed))

/* Raises the word to v if it is lower. Returns the resulting value. */
static inline uint64_t counter_raise(atomic_u64 *p, uint64_t v)
{
    uint64_t found = counter_get(p);
    while (found < v && !cas_plain(p, &found, v)) {
    }
    return found < v ? v : found;
}

/* Stores 0 into words in a row. On x86-64 this is one instruction that stores many words at once
 * (docs/decisions/epochs.md). Builds whose scheduler or sanitizer must see each word store them one by one. */
static inline void store_plain_zeros(atomic_u64 *first, size_t words)
{
#if defined(__x86_64__) && !TSLAB_SIM && !TSLAB_TSAN
    __asm__ volatile("rep stosq" : "+D"(first), "+c"(words) : "a"(0) : "memory");
#else
    for (; words != 0; words--, first++) {
        store_plain(first, 0);
    }
#endif
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
