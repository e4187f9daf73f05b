/* Handles, in the build whose generations have few bits: all of them are used up again and again, in every place. What
 * is promised is that no handle is ever followed once its object is gone; here it is enough that no two are ever equal,
 * and that a handle names its object exactly as long as that lives. */
#include "check.h"
#include "child.h"

#include "epoch/ending.h"
#include "epoch/epoch_alloc.h"
#include "epoch/survivors.h"
#include "malloc/current_thread.h"
#include "malloc/handle.h"
#include "malloc/object.h"
#include "slab/generation.h"
#include "space/depot.h"

/* Where the scheduler of the simulation would switch threads. */
void sim_point(void)
{
}

enum { SIZE = 1024, GIVEN_MAX = 20000 };

static struct {
    uint64_t handle, epoch;
} given[GIVEN_MAX];
static size_t given_count;

static uint64_t opened(enum tslab_policy policy)
{
    const struct scope_options options = { .policy = policy, .plain = true };
    const uint64_t epoch = scope_open(current_thread_get(), &options);
    CHECK(epoch != 0);
    return epoch;
}

static uint64_t made(uint64_t epoch, void **p)
{
    int status;
    const uint64_t handle = handle_alloc(current_thread_get(), epoch, SIZE, p, &status);
    CHECK_SAY(handle != 0, "no handle: %d", status);
    (void)object_begin(*p, SIZE);
    CHECK(handle_get(epoch, handle) == *p);
    for (size_t i = 0; i < given_count; i++) {
        CHECK_SAY(given[i].handle != handle, "handle %#llx was given twice", (unsigned long long)handle);
    }
    CHECK(given_count < GIVEN_MAX);
    given[given_count].handle = handle;
    given[given_count++].epoch = epoch;
    return handle;
}

static void refused(uint64_t epoch, uint64_t handle)
{
    CHECK_SAY(handle_get(epoch, handle) == NULL, "%#llx is followed", (unsigned long long)handle);
    CHECK(!handle_free(current_thread_get(), epoch, handle));
}

static void freed(uint64_t epoch, uint64_t handle)
{
    CHECK(handle_free(current_thread_get(), epoch, handle));
    refused(epoch, handle);
}

/* Every handle that was ever given, but for one, is refused in the epoch. */
static void all_refused_but(uint64_t epoch, uint64_t handle)
{
    for (size_t i = 0; i < given_count; i++) {
        if (given[i].handle != handle) {
            refused(epoch, given[i].handle);
        }
    }
}

static uint64_t alive_in(uint64_t epoch)
{
    struct thread *const thread = current_thread_get();
    uint64_t alive = 0;
    struct survivors sum;
    gate_lock(&thread->gate);
    struct epoch *const record = epoch_by_value(epoch);
    survivors_count(record, &sum);
    alive += sum.objects;
    if (epoch_serving(record) != NULL) {
        survivors_count(epoch_serving(record), &sum);
        alive += sum.objects;
    }
    gate_unlock(&thread->gate);
    return alive;
}

static void closed(uint64_t epoch, int status)
{
    CHECK(ending_close(current_thread_get(), epoch, false, NULL) == status);
}

static void case_one_place_after_the_other(const void *unused)
{
    (void)unused;
    for (int inside = 0; inside < 2; inside++) {
        const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
        if (inside) {
            CHECK(scope_enter(current_thread_get(), epoch) >= 0);
        }
        for (size_t i = 0; i < 1500; i++) {
            void *p;
            const uint64_t handle = made(epoch, &p);
            all_refused_but(epoch, handle);
            freed(epoch, handle);
        }
        CHECK(alive_in(epoch) == 0);
        if (inside) {
            CHECK(scope_leave(current_thread_get(), epoch) == TSLAB_OK);
        }
        CHECK(alive_in(epoch) == 0);
        closed(epoch, TSLAB_OK);
        CHECK(epoch_by_value(epoch) == NULL);
    }
}

static void case_a_place_is_retired(const void *unused)
{
    (void)unused;
    enum { ROUNDS = 2000 };
    static void *places[ROUNDS];
    const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
    for (size_t i = 0; i < ROUNDS; i++) {
        const uint64_t handle = made(epoch, &places[i]);
        freed(epoch, handle);
        CHECK(alive_in(epoch) == 0);
    }
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t lives = 0;
        for (size_t n = 0; n < ROUNDS; n++) {
            lives += places[n] == places[i];
        }
        CHECK_SAY(lives <= GENERATION_MOST, "a place was lent %zu times in one epoch", lives);
    }
    /* What is retired does not keep the epoch. */
    closed(epoch, TSLAB_OK);
    CHECK(epoch_by_value(epoch) == NULL);
}

static void ends(enum tslab_policy policy, bool frees)
{
    enum { ROUNDS = 300 };
    for (size_t round = 0; round < ROUNDS; round++) {
        void *p, *q;
        const uint64_t epoch = opened(policy);
        all_refused_but(epoch, 0);
        const uint64_t a = made(epoch, &p), b = made(epoch, &q);
        if (frees) {
            freed(epoch, a);
            freed(epoch, b);
            closed(epoch, TSLAB_OK);
        } else {
            CHECK(ending_release(current_thread_get(), epoch, false, NULL) == TSLAB_OK);
        }
        refused(epoch, a);
        refused(epoch, b);
        CHECK(epoch_by_value(epoch) == NULL);
    }
}

static void case_the_next_epoch_goes_on(const void *unused)
{
    (void)unused;
    ends(TSLAB_POLICY_DRAIN, true);
}

static void case_also_after_a_release(const void *unused)
{
    (void)unused;
    ends(TSLAB_POLICY_RELEASE, false);
}

static void case_also_after_a_trap(const void *unused)
{
    (void)unused;
    ends(TSLAB_POLICY_TRAP, false);
}

static void case_also_beside_an_instance(const void *unused)
{
    (void)unused;
    const struct scope_options options = { .policy = TSLAB_POLICY_RELEASE, .is_instance = true };
    for (size_t round = 0; round < 200; round++) {
        void *p, *q;
        const uint64_t instance = scope_open(current_thread_get(), &options), epoch = opened(TSLAB_POLICY_DRAIN);
        const uint64_t a = made(instance, &p), b = made(epoch, &q);
        refused(instance, b);
        refused(epoch, a);
        CHECK(ending_release(current_thread_get(), instance, false, NULL) == TSLAB_OK);
        all_refused_but(epoch, b);
        freed(epoch, b);
        closed(epoch, TSLAB_OK);
    }
}

static void goes_on_in_a_child(const void *argument)
{
    const uint64_t epoch = *(const uint64_t *)argument;
    for (size_t i = 0; i < 100; i++) {
        void *p;
        const uint64_t handle = made(epoch, &p);
        all_refused_but(epoch, handle);
        freed(epoch, handle);
    }
    closed(epoch, TSLAB_OK);
    CHECK(epoch_by_value(epoch) == NULL);
}

static void case_also_in_the_child_of_a_fork(const void *unused)
{
    (void)unused;
    const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
    for (size_t i = 0; i < 50; i++) {
        void *p;
        freed(epoch, made(epoch, &p));
    }
    child_succeeds(goes_on_in_a_child, &epoch, "");
    goes_on_in_a_child(&epoch);
}

/* What serves no handle any more serves everything else. */
static void case_units_that_are_used_up_are_not_lost(const void *unused)
{
    (void)unused;
    struct thread *const thread = current_thread_get();
    int status = TSLAB_OK;
    for (unsigned round = 0; status == TSLAB_OK; round++) {
        CHECK_SAY(round < 100 * 256 * GENERATION_MOST, "handles without an end");
        const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
        void *p;
        int why;
        const uint64_t handle = handle_alloc(thread, epoch, SIZE, &p, &why);
        if (handle == 0) {
            status = why;
        } else {
            (void)object_begin(p, SIZE);
            freed(epoch, handle);
        }
        closed(epoch, TSLAB_OK);
    }
    CHECK(status == TSLAB_NO_MEMORY);
    const size_t empty = counter_get(&depot.units[RUN_DIRTY]) + counter_get(&depot.units[RUN_CLEAN]);
    CHECK_SAY(empty >= 200, "%zu units are empty", empty);
    const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
    for (size_t i = 0; i < 200; i++) {
        bool zero;
        void *const p = epoch_alloc_in(thread, epoch, 4096, 1, &zero, &status);
        CHECK(p != NULL);
    }
    CHECK(ending_release(thread, epoch, false, NULL) == TSLAB_OK);
}

#define TEST(name)                                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        child_succeeds(case_##name, NULL, "");                                                                         \
    }

TEST(one_place_after_the_other)
TEST(a_place_is_retired)
TEST(the_next_epoch_goes_on)
TEST(also_after_a_release)
TEST(also_after_a_trap)
TEST(also_beside_an_instance)
TEST(also_in_the_child_of_a_fork)
TEST(units_that_are_used_up_are_not_lost)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_place_after_the_other),   cmocka_unit_test(a_place_is_retired),
        cmocka_unit_test(the_next_epoch_goes_on),      cmocka_unit_test(also_after_a_release),
        cmocka_unit_test(also_after_a_trap),           cmocka_unit_test(also_beside_an_instance),
        cmocka_unit_test(also_in_the_child_of_a_fork), cmocka_unit_test(units_that_are_used_up_are_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
