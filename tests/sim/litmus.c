/* The outcomes that the memory model of the rig permits (memory.h), by tests as the literature has them: all outcomes
 * of all schedules, and of all stores that loads may return, are collected, and must be exactly those that are
 * expected. The threads are instrumented, as engines under the model are.
 *
 * An outcome is what the threads' looks returned, a digit each; "-": there was none; "race": a data race ended the
 * run. */
#include "memory.h"
#include "os/lock.h"
#include "os/os.h"
#include "scheduler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LOOKS = 4, OUTCOMES_MAX = 32, OUTCOME_BYTES = 8, PREEMPTIONS = 6, STALE_READS = 3 };

static struct {
    atomic_u32 x, y; /* in one word: a store to the one is none to the other */
    uint32_t data;
    _Alignas(8) uint8_t bytes[8];
    struct lock lock;
} m;

static struct {
    char looks[LOOKS];
    char outcomes[OUTCOMES_MAX][OUTCOME_BYTES];
    unsigned outcome_count;
} seen;

#define NOT_INSTRUMENTED __attribute__((no_sanitize("thread")))

NOT_INSTRUMENTED static void see(unsigned look, uint32_t value)
{
    seen.looks[look] = (char)('0' + value);
}

/* The tests. */

#define swap_acq_rel(p, v)      (ATOMIC_POINT(), atomic_exchange_explicit((p), (v), memory_order_acq_rel))
#define fetch_add_acquire(p, v) (ATOMIC_POINT(), atomic_fetch_add_explicit((p), (v), memory_order_acquire))
#define cas_with_relaxed_failure(p, expected, v)                                                                       \
    (ATOMIC_POINT(),                                                                                                   \
     atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_seq_cst, memory_order_relaxed))

/* Compare-and-swaps that find another value than 7, and one that may find what it wants. */
static uint32_t look_by_cas(atomic_u32 *p)
{
    uint32_t found = 7;
    return cas_seq_cst(p, &found, 8) ? 8 : found;
}

static uint32_t look_by_weak_cas(atomic_u32 *p)
{
    uint32_t found = 7;
    return cas_with_relaxed_failure(p, &found, 8) ? 8 : found;
}

static void ignore_cas(atomic_u32 *p, uint32_t v)
{
    uint32_t found = 0;
    (void)cas_seq_cst(p, &found, v);
}

static bool wins(atomic_u32 *p)
{
    uint32_t found = 0;
    return cas_acquire(p, &found, 1);
}

static atomic_u8 *byte(unsigned i)
{
    return (atomic_u8 *)(uintptr_t)&m.bytes[i];
}

static atomic_u32 *word_of_bytes(void)
{
    return (atomic_u32 *)(uintptr_t)m.bytes;
}

static void plain_write(atomic_u32 *p)
{
    *(uint32_t *)(uintptr_t)p = 3;
}

static uint32_t read_data(void)
{
    return *(volatile uint32_t *)&m.data;
}

static void copy_bytes(void)
{
    uint8_t copy[sizeof m.bytes];
    memcpy(copy, m.bytes, sizeof copy);
    see(0, copy[3]);
}

#define X (&m.x)
#define Y (&m.y)
#define Z word_of_bytes()

/* Message passing: of a plain value, and of an atomic one. */
#define PASS(T, name, store, load, plain, atomic)                                                                      \
    T(pass_##name, 2, plain, (m.data = 1, store(X, 1)), if (load(X) == 1) see(0, m.data), , )                          \
    T(tell_##name, 2, atomic, (store_relaxed(Y, 1), store(X, 1)), (see(0, load(X)), see(1, load_relaxed(Y))), , )

/* Store buffering: each writes, then looks at what the other wrote. */
#define BUFFER(T, name, outcomes, write, look)                                                                         \
    T(buffer_##name, 2, outcomes, ((void)write(X, 1), see(0, look(Y))), ((void)write(Y, 1), see(1, look(X))), , )

/* Independent reads of independent writes. */
#define READERS(T, name, outcomes, store, load)                                                                        \
    T(readers_##name, 4, outcomes, store(X, 1), store(Y, 1), (see(0, load(X)), see(1, load(Y))),                       \
      (see(2, load(Y)), see(3, load(X))))
#define ALL_BUT_0010_AND_1010 "0000 0001 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"
#define ALL_BUT_1010          ALL_BUT_0010_AND_1010 " 0010"

/* clang-format off */
/* Name, number of threads, all outcomes, what each thread does. */
#define TESTS(T) \
    PASS(T, relaxed,         store_relaxed, load_relaxed, "- race", "00 01 10 11") \
    PASS(T, relaxed_acquire, store_relaxed, load_acquire, "- race", "00 01 10 11") \
    PASS(T, release_relaxed, store_release, load_relaxed, "- race", "00 01 10 11") \
    PASS(T, release_acquire, store_release, load_acquire, "- 1",    "00 01 11") \
    PASS(T, seq_cst_acquire, store_seq_cst, load_acquire, "- 1",    "00 01 11") \
    PASS(T, release_seq_cst, store_release, load_seq_cst, "- 1",    "00 01 11") \
    \
    BUFFER(T, relaxed,         "00 01 10 11", store_relaxed, load_relaxed) \
    BUFFER(T, release_acquire, "00 01 10 11", store_release, load_acquire) \
    BUFFER(T, release_seq_cst, "00 01 10 11", store_release, load_seq_cst) \
    BUFFER(T, seq_cst_acquire, "00 01 10 11", store_seq_cst, load_acquire) \
    BUFFER(T, seq_cst,         "01 10 11",    store_seq_cst, load_seq_cst) \
    BUFFER(T, modify,          "01 10 11",    swap_seq_cst, load_seq_cst) \
    BUFFER(T, modify_acq_rel,  "00 01 10 11", swap_acq_rel, load_seq_cst) \
    BUFFER(T, failed_cas,      "01 10 11",    ignore_cas, look_by_cas) \
    BUFFER(T, weak_failed_cas, "00 01 10 11", ignore_cas, look_by_weak_cas) \
    T(buffer_one_side, 2, "00 01 10 11", (store_seq_cst(X, 1), see(0, load_seq_cst(Y))), \
      (store_seq_cst(Y, 1), see(1, load_acquire(X))), , ) \
    \
    READERS(T, acquire,         ALL_BUT_1010 " 1010", store_release, load_acquire) \
    READERS(T, seq_cst_acquire, ALL_BUT_1010 " 1010", store_seq_cst, load_acquire) \
    READERS(T, seq_cst,         ALL_BUT_1010,         store_seq_cst, load_seq_cst) \
    /* A store that a seq_cst load has returned comes before what later ones return, whatever its own order. */ \
    READERS(T, release_seq_cst, ALL_BUT_1010,         store_release, load_seq_cst) \
    /* A seq_cst load may be early, but not earlier than another of its thread, or what it acquires. */ \
    T(early_load, 2, "00 01 10 11", (store_seq_cst(X, 1), store_seq_cst(Y, 1)), \
      (see(0, load_relaxed(Y)), see(1, load_seq_cst(X))), , ) \
    T(not_early_after_seq_cst, 2, "00 01 11", (store_seq_cst(X, 1), store_seq_cst(Y, 1)), \
      (see(0, load_seq_cst(Y)), see(1, load_seq_cst(X))), , ) \
    T(not_early_after_acquire, 2, "00 01 11", (store_seq_cst(X, 1), store_seq_cst(Y, 1)), \
      (see(0, load_acquire(Y)), see(1, load_seq_cst(X))), , ) \
    /* A store that is early for one thread is so for all. */ \
    T(early_for_all, 3, ALL_BUT_0010_AND_1010, (store_seq_cst(X, 1), store_seq_cst(Y, 1)), \
      (store_seq_cst(Z, 1), see(0, load_relaxed(Y)), see(1, load_seq_cst(X))), \
      (see(2, load_seq_cst(Y)), see(3, load_seq_cst(Z))), ) \
    \
    /* Coherence. */ \
    T(read_read, 2, "00 01 02 11 12 22", (store_relaxed(X, 1), store_relaxed(X, 2)), \
      (see(0, load_relaxed(X)), see(1, load_relaxed(X))), , ) \
    T(write_read, 2, "1 2", (store_relaxed(X, 1), see(0, load_relaxed(X))), store_relaxed(X, 2), , ) \
    T(read_by_another, 3, "- 1", store_relaxed(X, 1), if (load_relaxed(X) == 1) store_release(Y, 1), \
      if (load_acquire(Y) == 1) see(0, load_relaxed(X)), ) \
    T(read_by_another_relaxed, 3, "- 0 1", store_relaxed(X, 1), if (load_relaxed(X) == 1) store_relaxed(Y, 1), \
      if (load_acquire(Y) == 1) see(0, load_relaxed(X)), ) \
    \
    /* Read-modify-writes read the last store, and hand on what it released. Stores do not. */ \
    T(modify_twice, 2, "01 10", see(0, fetch_add_relaxed(X, 1)), see(1, fetch_add_relaxed(X, 1)), , ) \
    T(modify_hands_on, 3, "- 1", (m.data = 1, store_release(X, 1)), (void)fetch_add_relaxed(X, 2), \
      if (load_acquire(X) == 3) see(0, m.data), ) \
    T(store_hands_on_nothing, 3, "- race", (m.data = 1, store_release(X, 1)), \
      if (load_relaxed(X) == 1) store_relaxed(X, 3), if (load_acquire(X) == 3) see(0, m.data), ) \
    T(nor_does_ones_own, 2, "- race", (m.data = 1, store_release(X, 1), store_relaxed(X, 3)), \
      if (load_acquire(X) == 3) see(0, m.data), , ) \
    T(same_value_twice, 2, "- 1 race", (store_relaxed(X, 1), m.data = 1, store_release(X, 1), store_relaxed(Y, 1)), \
      if (fetch_add_relaxed(Y, 0) == 1 && load_acquire(X) == 1) see(0, m.data), , ) \
    T(modify_acquires, 2, "- 1", (m.data = 1, store_release(X, 1)), \
      if (fetch_add_acquire(X, 2) == 1) see(0, m.data), , ) \
    T(modify_does_not_acquire, 2, "- race", (m.data = 1, store_release(X, 1)), \
      if (fetch_add_relaxed(X, 2) == 1) see(0, m.data), , ) \
    T(one_wins, 2, "01 10", see(0, wins(X)), see(1, wins(X)), , ) \
    T(cas_reads_old_store, 2, "0 1", (store_relaxed(X, 2), store_relaxed(X, 0), store_relaxed(Y, 1)), \
      if (fetch_add_relaxed(Y, 0) == 1) see(0, wins(X)); else see(0, 1), , ) \
    T(cas_reads_last_store, 2, "1", (store_relaxed(X, 2), store_relaxed(X, 0), store_release(Y, 1)), \
      if (fetch_add_acquire(Y, 0) == 1) see(0, wins(X)); else see(0, 1), , ) \
    T(locked, 2, "01 10", (lock_acquire(&m.lock), see(0, m.data++), lock_release(&m.lock)), \
      (lock_acquire(&m.lock), see(1, m.data++), lock_release(&m.lock)), , ) \
    \
    /* Plain accesses. */ \
    T(plain_writes, 2, "race", m.data = 1, m.data = 2, , ) \
    T(plain_reads, 2, "00", see(0, m.data), see(1, m.data), , ) \
    T(plain_neighbours, 2, "-", m.bytes[2] = 1, m.bytes[3] = 1, , ) \
    T(plain_copy, 2, "race", copy_bytes(), m.bytes[3] = 1, , ) \
    T(plain_write_and_read, 2, "race", (m.data = 1, see(0, read_data())), see(1, read_data()), , ) \
    T(plain_and_atomic_write, 2, "race", (plain_write(X), store_relaxed(X, 1)), see(0, load_relaxed(X)), , ) \
    T(plain_write_after_release, 2, "- race", (store_release(X, 1), m.data = 1), \
      if (load_acquire(X) == 1) m.data = 2, , ) \
    T(plain_overlap, 2, "race", memset(m.bytes, 1, 4), m.bytes[3] = 1, , ) \
    T(plain_beside_atomic, 2, "race", plain_write(X), see(0, load_relaxed(X)), , ) \
    T(plain_read_beside_atomic, 2, "race", store_relaxed(X, 1), see(0, *(uint32_t *)(uintptr_t)X), , ) \
    T(plain_write_after_atomic, 2, "- 3", (store_relaxed(X, 1), plain_write(X), store_release(Y, 1)), \
      if (load_acquire(Y) == 1) see(0, load_relaxed(X)), , ) \
    \
    /* Loads of a word, and stores to its bytes. */ \
    T(bytes_of_a_word, 2, "- 1", (store_relaxed(byte(0), 1), m.data = 1, store_release(byte(1), 1)), \
      if (load_acquire(word_of_bytes()) == 0x101) see(0, m.data), , ) \
    T(bytes_of_two_stores, 3, "- 1", (m.data = 1, store_release(byte(0), 1)), store_relaxed(byte(1), 1), \
      if (load_acquire(word_of_bytes()) == 0x101) see(0, m.data), ) \
    T(bytes_of_a_word_relaxed, 2, "- race", (store_relaxed(byte(0), 1), m.data = 1, store_relaxed(byte(1), 1)), \
      if (load_acquire(word_of_bytes()) == 0x101) see(0, m.data), , ) \
    \
    /* Hand-overs of users, and a fork. */ \
    T(handed_on, 2, "-", (memory_use(&m.data, 4), memory_release(&m), store_relaxed(X, 1)), \
      if (load_relaxed(X) == 1) (memory_acquire(&m), memory_use(&m.data, 4)), , ) \
    T(handed_on_too_early, 2, "- race", (memory_release(&m), memory_use(&m.data, 4), store_relaxed(X, 1)), \
      if (load_relaxed(X) == 1) (memory_acquire(&m), memory_use(&m.data, 4)), , ) \
    T(not_handed_on, 2, "- race", (memory_use(&m.data, 4), store_relaxed(X, 1)), \
      if (load_relaxed(X) == 1) memory_use(&m.data, 4), , ) \
    T(forked, 2, "- 11", (store_relaxed(Y, 1), m.data = 1, store_relaxed(X, 1)), \
      if (load_relaxed(X) == 1) (sim_freeze_others(), see(0, load_relaxed(Y)), see(1, m.data)), , ) \
    \
    /* Outcomes of C11 that the model never shows: 11, each load returns a store that comes later; and 11, the first \
     * store of each is the last one of its place. */ \
    T(load_buffering, 2, "00 01 10", (see(0, load_relaxed(X)), store_relaxed(Y, 1)), \
      (see(1, load_relaxed(Y)), store_relaxed(X, 1)), , ) \
    T(two_writers, 3, "12 21 22", (store_relaxed(X, 1), store_relaxed(Y, 2), sim_add_to(0, 1)), \
      (store_relaxed(Y, 1), store_relaxed(X, 2), sim_add_to(1, 1)), \
      if (sim_wait_for(0) && sim_wait_for(1)) (see(0, fetch_add_relaxed(X, 0)), see(1, fetch_add_relaxed(Y, 0))), )
/* clang-format on */

#define BODY(name, threads, outcomes, t0, t1, t2, t3)                                                                  \
    static void name(int thread)                                                                                       \
    {                                                                                                                  \
        if (thread == 0) {                                                                                             \
            t0;                                                                                                        \
        } else if (thread == 1) {                                                                                      \
            t1;                                                                                                        \
        } else if (thread == 2) {                                                                                      \
            t2;                                                                                                        \
        } else {                                                                                                       \
            t3;                                                                                                        \
        }                                                                                                              \
    }
TESTS(BODY)

/* Running them. Nothing is tracked between runs. */

struct litmus {
    const char *outcomes;
    void (*body)(int thread);
    int threads;
};

static void reset(void)
{
    memset(&m, 0, sizeof m);
    m.lock.rank = RANK_LIST;
    memset(seen.looks, 0, sizeof seen.looks);
}

static void step(void)
{
}

static void add_outcome(bool done)
{
    char outcome[OUTCOME_BYTES] = "";
    for (unsigned i = 0; i < LOOKS; i++) {
        strncat(outcome, &seen.looks[i], 1);
    }
    if (!done) {
        assert_non_null(strstr(sim_failure(), "data race"));
        strcpy(outcome, "race");
    } else if (outcome[0] == 0) {
        strcpy(outcome, "-");
    }
    for (unsigned i = 0; i < seen.outcome_count; i++) {
        if (strcmp(seen.outcomes[i], outcome) == 0) {
            return;
        }
    }
    assert_true(seen.outcome_count < OUTCOMES_MAX);
    strcpy(seen.outcomes[seen.outcome_count++], outcome);
}

static bool is_expected(const char *outcomes, const char *outcome)
{
    const char *at = strstr(outcomes, outcome);
    return at != NULL && (at[strlen(outcome)] == ' ' || at[strlen(outcome)] == 0);
}

static void test_litmus(void **state)
{
    const struct litmus *litmus = *state;
    const struct sim_run run = { litmus->threads, PREEMPTIONS, STALE_READS, false, litmus->body, step };
    seen.outcome_count = 0;
    sim_explore_start();
    while (sim_explore_next()) {
        reset();
        add_outcome(sim_run(&run));
    }
    unsigned expected = 1;
    for (const char *at = litmus->outcomes; *at != 0; at++) {
        expected += *at == ' ';
    }
    for (unsigned i = 0; i < seen.outcome_count; i++) {
        if (!is_expected(litmus->outcomes, seen.outcomes[i])) {
            fail_msg("there is an outcome %s", seen.outcomes[i]);
        }
    }
    if (seen.outcome_count != expected) {
        fail_msg("there are %u outcomes of %s", seen.outcome_count, litmus->outcomes);
    }
}

int main(void)
{
#define LITMUS(name, threads, outcomes, t0, t1, t2, t3) { outcomes, name, threads },
#define NAME(name, threads, outcomes, t0, t1, t2, t3)   #name,
    static const struct litmus litmus[] = { TESTS(LITMUS) };
    static const char *const names[] = { TESTS(NAME) };
    static struct CMUnitTest tests[sizeof litmus / sizeof *litmus];
    os_calls.futex_wait = sim_futex_wait;
    os_calls.futex_wake_one = sim_futex_wake_one;
    for (unsigned i = 0; i < sizeof litmus / sizeof *litmus; i++) {
        tests[i] = (struct CMUnitTest){ names[i], test_litmus, NULL, NULL, (void *)(uintptr_t)&litmus[i] };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
