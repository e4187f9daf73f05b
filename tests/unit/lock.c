/* The lock and its queue, with real threads. */
#include "child.h"

#include "os/lock.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20000 };

static struct lock lock;
static uint64_t guarded; /* not atomic on purpose: only the lock protects it */

static void *count_under_lock(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 4 != 0 || !lock_try(&lock)) {
            lock_acquire(&lock);
        }
        guarded++;
        lock_release(&lock);
    }
    return NULL;
}

TEST(one_at_a_time_holds_it)
{
    lock = (struct lock)LOCK_INIT(RANK_LIST);
    guarded = 0;
    in_threads(THREADS, count_under_lock, NULL, 1);
    assert_int_equal(guarded, (uint64_t)THREADS * ROUNDS);
    assert_int_equal(load_plain(&lock.word), 0);
}

TEST(a_held_lock_cannot_be_tried)
{
    lock = (struct lock)LOCK_INIT(RANK_LIST);
    assert_true(lock_try(&lock));
    assert_false(lock_try(&lock));
    lock_release(&lock);
    assert_true(lock_try(&lock));
    lock_release(&lock);
}

TEST(the_queue_comes_back_last_first)
{
    lock = (struct lock)LOCK_INIT(RANK_LIST);
    atomic_u32 next[8];
    lock_acquire(&lock);
    for (uint32_t number = 3; number <= 7; number += 2) {
        assert_false(lock_push(&lock, number, &next[number]));
    }
    /* The release takes the queue and keeps the lock. */
    assert_int_equal(lock_release_or_harvest(&lock), 7);
    assert_int_equal(load_plain(&next[7]), 5);
    assert_int_equal(load_plain(&next[5]), 3);
    assert_int_equal(load_plain(&next[3]), 0);
    assert_false(lock_try(&lock));
    /* So it is for what is pushed meanwhile. */
    assert_false(lock_push(&lock, 5, &next[5]));
    assert_int_equal(lock_release_or_harvest(&lock), 5);
    assert_int_equal(load_plain(&next[5]), 0);
    assert_int_equal(lock_release_or_harvest(&lock), 0);
    assert_true(lock_try(&lock));
    lock_release(&lock);
}

TEST(a_push_on_a_free_lock_takes_it)
{
    lock = (struct lock)LOCK_INIT(RANK_LIST);
    atomic_u32 next = 99;
    assert_true(lock_push(&lock, (1u << 30) - 1, &next));
    assert_int_equal(next, 0);
    assert_false(lock_try(&lock));
    assert_int_equal(lock_release_or_harvest(&lock), (1u << 30) - 1);
    assert_int_equal(lock_release_or_harvest(&lock), 0);
}

/* Every thread pushes its own numbers; whoever holds the lock harvests. */
static atomic_u32 next_of[THREADS * ROUNDS + 1];
static uint8_t harvested[THREADS * ROUNDS + 1]; /* protected by the lock */

static void harvest_all(void)
{
    uint32_t number;
    while ((number = lock_release_or_harvest(&lock)) != 0) {
        while (number != 0) {
            const uint32_t after = load_relaxed(&next_of[number]);
            harvested[number]++;
            guarded++;
            number = after;
        }
    }
}

static void *push_or_wait(void *argument)
{
    const uint32_t base = (uint32_t)(uintptr_t)argument * ROUNDS;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        if (lock_push(&lock, base + i, &next_of[base + i])) {
            harvest_all();
        }
        if (i % 64 == 0) {
            lock_acquire(&lock);
            harvest_all();
        }
    }
    return NULL;
}

TEST(everything_pushed_is_harvested_once)
{
    lock = (struct lock)LOCK_INIT(RANK_LIST);
    guarded = 0;
    in_threads(THREADS, push_or_wait, NULL, 1);
    assert_int_equal(load_plain(&lock.word), 0);
    assert_int_equal(guarded, (uint64_t)THREADS * ROUNDS);
    for (uint32_t number = 1; number <= THREADS * ROUNDS; number++) {
        assert_int_equal(harvested[number], 1);
    }
}

static void take_in_order(const void *argument)
{
    const enum lock_rank *ranks = argument;
    struct lock first = LOCK_INIT(ranks[0]);
    struct lock second = LOCK_INIT(ranks[1]);
    lock_acquire(&first);
    lock_acquire(&second);
    lock_release(&second);
    lock_release(&first);
    /* A released lock does not count. */
    lock_acquire(&second);
    lock_release(&second);
    lock_acquire(&first);
    lock_release(&first);
}

static void try_in_order(const void *argument)
{
    const enum lock_rank *ranks = argument;
    struct lock first = LOCK_INIT(ranks[0]);
    struct lock second = LOCK_INIT(ranks[1]);
    lock_acquire(&first);
    CHECK(lock_try(&second));
}

static void push_in_order(const void *argument)
{
    const enum lock_rank *ranks = argument;
    struct lock first = LOCK_INIT(ranks[0]);
    struct lock second = LOCK_INIT(ranks[1]);
    atomic_u32 next;
    lock_acquire(&first);
    CHECK(lock_push(&second, 1, &next));
}

TEST(ranks_order_the_locks)
{
    for (enum lock_rank low = RANK_PROGRAM_THREADS; low <= RANK_META; low++) {
        for (enum lock_rank high = low + 1; high <= RANK_META; high++) {
            child_succeeds(take_in_order, (enum lock_rank[]){ low, high }, "");
        }
    }
    child_succeeds(take_in_order, (enum lock_rank[]){ RANK_GATE, RANK_GATE }, "");
}

static void breaks_the_order(void (*body)(const void *), enum lock_rank first, enum lock_rank second)
{
    static const char start[] = "broken invariant: ";
    const struct child child = child_run(body, (enum lock_rank[]){ first, second });
    assert_true(child_aborted(&child));
    assert_non_null(child_last_words(&child));
    assert_memory_equal(child_last_words(&child), start, sizeof start - 1);
    assert_non_null(strstr(child.said, " at lock.c:"));
}

TEST(a_broken_order_is_seen_in_checked_builds)
{
    if (!TSLAB_CHECKED) {
        skip();
    }
    for (enum lock_rank first = RANK_PROGRAM_THREADS; first <= RANK_META; first++) {
        for (enum lock_rank second = RANK_PROGRAM_THREADS; second <= first; second++) {
            if (first != RANK_GATE || second != RANK_GATE) {
                breaks_the_order(take_in_order, first, second);
            }
        }
    }
    breaks_the_order(try_in_order, RANK_DEPOT, RANK_LIST);
    breaks_the_order(push_in_order, RANK_DEPOT, RANK_LIST);
    breaks_the_order(take_in_order, RANK_LIST, (enum lock_rank)0);
}
