/* Handles, in the build whose tables have short blocks and whose entries have few tags: all of them are used up again
 * and again. No two handles are equal, and a handle names its object exactly as long as that lives. */
#include "check.h"
#include "child.h"

#include "common/metadata.h"
#include "epoch/ending.h"
#include "epoch/scope.h"
#include "epoch/survivors.h"
#include "malloc/current_thread.h"
#include "malloc/handle.h"
#include "slab/handle_table.h"

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
    CHECK(!handle_free(epoch, handle));
}

static void freed(uint64_t epoch, uint64_t handle)
{
    CHECK(handle_free(epoch, handle));
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
    struct survivors sum;
    gate_lock(&thread->gate);
    survivors_count(epoch_by_value(epoch), &sum);
    gate_unlock(&thread->gate);
    return sum.objects;
}

static void closed(uint64_t epoch, int status)
{
    CHECK(ending_close(current_thread_get(), epoch, false, NULL) == status);
}

IN_A_CHILD(one_after_the_other)
{
    for (int inside = 0; inside < 2; inside++) {
        const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
        if (inside) {
            CHECK(scope_enter(current_thread_get(), epoch) >= 0);
        }
        for (size_t i = 0; i < 100; i++) {
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

/* An entry whose tags are used up is not used again, so a table has room for so many handles and no more. */
IN_A_CHILD(tags_are_used_up)
{
    const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
    size_t count = 0;
    void *p;
    int status;
    for (uint64_t handle; (handle = handle_alloc(current_thread_get(), epoch, SIZE, &p, &status)) != 0; count++) {
        CHECK_SAY(count < GIVEN_MAX, "handles without an end");
        freed(epoch, handle);
    }
    CHECK(status == TSLAB_NO_MEMORY && alive_in(epoch) == 0);
    CHECK_SAY(count == 15 << HANDLE_USE_BITS, "%zu handles", count);
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

IN_A_CHILD(the_next_epoch_goes_on)
{
    ends(TSLAB_POLICY_DRAIN, true);
}

IN_A_CHILD(also_after_a_release)
{
    ends(TSLAB_POLICY_RELEASE, false);
}

IN_A_CHILD(also_after_a_trap)
{
    ends(TSLAB_POLICY_TRAP, false);
}

IN_A_CHILD(also_beside_an_instance)
{
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
    for (size_t i = 0; i < 50; i++) {
        void *p;
        const uint64_t handle = made(epoch, &p);
        all_refused_but(epoch, handle);
        freed(epoch, handle);
    }
    closed(epoch, TSLAB_OK);
    CHECK(epoch_by_value(epoch) == NULL);
}

IN_A_CHILD(also_in_the_child_of_a_fork)
{
    const uint64_t epoch = opened(TSLAB_POLICY_DRAIN);
    for (size_t i = 0; i < 50; i++) {
        void *p;
        freed(epoch, made(epoch, &p));
    }
    child_succeeds(goes_on_in_a_child, &epoch, "");
    goes_on_in_a_child(&epoch);
}

/* Tables of ended epochs serve the next ones. */
IN_A_CHILD(tables_are_used_again)
{
    size_t warm = 0;
    for (size_t round = 0; round < 200; round++) {
        const uint64_t epoch = opened(round % 2 == 0 ? TSLAB_POLICY_DRAIN : TSLAB_POLICY_RELEASE);
        for (size_t i = 0; i < 15; i++) {
            void *p;
            const uint64_t handle = made(epoch, &p);
            CHECK(round % 2 == 1 || handle_free(epoch, handle));
        }
        closed(epoch, TSLAB_OK);
        CHECK(epoch_by_value(epoch) == NULL);
        if (round == 10) {
            warm = counter_get(&meta_bytes);
        }
    }
    CHECK_SAY(counter_get(&meta_bytes) == warm, "from %zu to %zu", warm, counter_get(&meta_bytes));
}
