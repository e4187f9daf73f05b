/* Holds of an epoch: what several threads, one after the other, leave behind. Counted in holds, chunks and atomic
 * operations, on the build whose words count few holds; one thread plays them all, by their records. */
#include "check.h"
#include "child.h"

#include "common/metadata.h"
#include "epoch/ending.h"
#include "epoch/epoch_alloc.h"
#include "epoch/scope.h"
#include "malloc/current_thread.h"
#include "malloc/fast.h"
#include "malloc/object.h"
#include "space/depot.h"

static size_t units_of_chunks(void)
{
    struct tslab_stats stats;
    CHECK(tslab_stats_get(&stats) == TSLAB_OK);
    return stats.chunk_bytes / UNIT_BYTES;
}

static size_t steps;

/* Every atomic operation of the engine comes by here. */
void sim_point(void)
{
    steps++;
}

enum { THREADS = EPOCH_HELD_MOST - 1, DEEP = 10000 };

static uint64_t opened(void)
{
    const struct scope_options options = { .policy = TSLAB_POLICY_DRAIN, .plain = true };
    const uint64_t epoch = scope_open(current_thread_get(), &options);
    CHECK(epoch != 0);
    return epoch;
}

static struct epoch *record_of(uint64_t epoch)
{
    struct epoch *const record = epoch_by_value(epoch);
    CHECK(record != NULL);
    return record;
}

static size_t holds_of(uint64_t epoch)
{
    size_t count = 0;
    for (const struct hold *hold = epoch_first_hold(record_of(epoch)); hold != NULL; hold = hold_next(hold)) {
        count++;
    }
    return count;
}

static void closed(uint64_t epoch, int status)
{
    CHECK(ending_close(current_thread_get(), epoch, false, NULL) == status);
}

static void entered(struct thread *thread, uint64_t epoch)
{
    CHECK(scope_enter(thread, epoch) >= 0);
}

static void left(struct thread *thread, uint64_t epoch)
{
    CHECK(scope_leave(thread, epoch) == TSLAB_OK);
}

static void *allocated(struct thread *thread, uint64_t epoch, size_t size)
{
    bool zero;
    int status;
    void *const p = epoch_alloc_in(thread, epoch, size, 1, &zero, &status);
    CHECK(p != NULL);
    return object_begin(p, size);
}

/* So many threads that are not this one. */
static void threads_made(struct thread **threads, size_t count)
{
    (void)current_thread_get();
    for (size_t i = 0; i < count; i++) {
        threads[i] = thread_open(true);
        CHECK(threads[i] != NULL);
    }
}

/* The atomic operations of one thread's short epoch. */
static size_t steps_of_a_life(void)
{
    const size_t before = steps;
    const uint64_t epoch = opened();
    entered(current_thread_get(), epoch);
    left(current_thread_get(), epoch);
    closed(epoch, TSLAB_OK);
    return steps - before;
}

static void all_inside_at_once(struct thread **threads, size_t count)
{
    const uint64_t epoch = opened();
    for (size_t i = 0; i < count; i++) {
        entered(threads[i], epoch);
    }
    CHECK(holds_of(epoch) == count);
    for (size_t i = 0; i < count; i++) {
        left(threads[i], epoch);
    }
    closed(epoch, TSLAB_OK);
}

IN_A_CHILD(a_record_forgets_that_many_were_inside)
{
    struct thread *threads[THREADS];
    threads_made(threads, THREADS);
    (void)steps_of_a_life();
    const size_t alone = steps_of_a_life();
    all_inside_at_once(threads, THREADS);
    (void)steps_of_a_life(); /* the thread may remember another hold */
    const size_t later = steps_of_a_life();
    CHECK_SAY(later == alone, "an epoch took %zu operations, and takes %zu after many were inside of one", alone,
              later);
    const uint64_t epoch = opened();
    CHECK_SAY(holds_of(epoch) == 1, "%zu holds are linked", holds_of(epoch));
    closed(epoch, TSLAB_OK);
}

IN_A_CHILD(holds_of_earlier_lives_are_used_again)
{
    struct thread *threads[THREADS];
    threads_made(threads, THREADS);
    all_inside_at_once(threads, THREADS);
    const size_t before = counter_get(&meta_bytes);
    for (size_t round = 0; round < 20; round++) {
        all_inside_at_once(threads, THREADS);
    }
    CHECK_SAY(counter_get(&meta_bytes) == before, "holds took %zu bytes more", counter_get(&meta_bytes) - before);
}

IN_A_CHILD(more_threads_than_the_word_counts_are_refused)
{
    struct thread *threads[THREADS + 2];
    threads_made(threads, THREADS + 2);
    const uint64_t epoch = opened();
    for (size_t i = 0; i < THREADS; i++) {
        entered(threads[i], epoch);
    }
    const size_t before = counter_get(&meta_bytes);
    for (size_t i = 0; i < 100; i++) {
        CHECK(scope_enter(threads[THREADS], epoch) == TSLAB_NO_MEMORY);
        CHECK(scope_enter(threads[THREADS + 1], epoch) == TSLAB_NO_MEMORY);
    }
    CHECK(counter_get(&meta_bytes) == before && record_of(epoch)->id == (epoch & bit_mask(EPOCH_GENERATION_SHIFT)));
    left(threads[3], epoch);
    entered(threads[THREADS], epoch);
    CHECK(scope_enter(threads[THREADS + 1], epoch) == TSLAB_NO_MEMORY);
    left(threads[THREADS], epoch);
    for (size_t i = 0; i < THREADS; i++) {
        if (i != 3) {
            left(threads[i], epoch);
        }
    }
    closed(epoch, TSLAB_OK);
    CHECK(epoch_by_value(epoch) == NULL);
}

IN_A_CHILD(a_thread_finds_its_hold_again)
{
    struct thread *threads[THREADS];
    struct hold *holds[THREADS];
    threads_made(threads, THREADS);
    const uint64_t epoch = opened();
    for (size_t i = 0; i < THREADS; i++) {
        entered(threads[i], epoch);
        holds[i] = threads[i]->scope;
        for (size_t n = 0; n < i; n++) {
            CHECK(holds[n] != holds[i]);
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        left(threads[i], epoch);
    }
    /* In whatever order they come back, and by as many steps as the first. */
    size_t most = 0, least = SIZE_MAX;
    for (size_t round = 0; round < 100; round++) {
        const size_t at = round * 5 % THREADS, before = steps;
        entered(threads[at], epoch);
        CHECK_SAY(threads[at]->scope == holds[at], "thread %zu has another hold", at);
        left(threads[at], epoch);
        most = max_size(most, steps - before);
        least = min_size(least, steps - before);
    }
    CHECK_SAY(most == least, "to enter and leave takes %zu to %zu operations", least, most);
    CHECK(holds_of(epoch) == THREADS);
    closed(epoch, TSLAB_OK);
}

/* They began with the same hold, and part as soon as they meet. */
IN_A_CHILD(two_threads_part)
{
    struct thread *threads[2];
    threads_made(threads, 2);
    const uint64_t epoch = opened();
    for (size_t i = 0; i < 2; i++) {
        entered(threads[i], epoch);
        left(threads[i], epoch);
    }
    entered(threads[0], epoch);
    entered(threads[1], epoch);
    struct hold *const holds[] = { threads[0]->scope, threads[1]->scope };
    CHECK(holds[0] != holds[1]);
    left(threads[0], epoch);
    left(threads[1], epoch);
    for (size_t i = 0; i < 20; i++) {
        entered(threads[i % 2], epoch);
        CHECK(threads[i % 2]->scope == holds[i % 2]);
        left(threads[i % 2], epoch);
    }
    closed(epoch, TSLAB_OK);
}

IN_A_CHILD(scopes_in_scopes_take_one_chunk)
{
    struct thread *const thread = current_thread_get();
    const uint64_t epoch = opened();
    void *objects[4];
    size_t count = 0;
    for (size_t i = 0; i < DEEP; i++) {
        entered(thread, epoch);
        if (i % (DEEP / 4) == 0) {
            objects[count++] = allocated(thread, epoch, 16);
        }
    }
    CHECK_SAY(units_of_chunks() == CHUNK_UNITS, "%zu units of chunks", units_of_chunks());
    CHECK(holds_of(epoch) == 1 && scope_value(thread) == epoch);
    closed(epoch, TSLAB_PENDING);
    CHECK(scope_enter(thread, epoch) == TSLAB_CLOSED);
    for (size_t i = 0; i < DEEP; i++) {
        CHECK(scope_value(thread) == epoch);
        left(thread, epoch);
    }
    CHECK(scope_leave(thread, epoch) == TSLAB_NOT_INSIDE && scope_value(thread) == 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(epoch_by_value(epoch) != NULL);
        fast_free(objects[i]);
    }
    CHECK(epoch_by_value(epoch) == NULL);
}

IN_A_CHILD(two_epochs_in_turns_take_two)
{
    struct thread *const thread = current_thread_get();
    const uint64_t epochs[] = { opened(), opened() };
    for (int round = 0; round < 2; round++) {
        const size_t before = counter_get(&meta_bytes);
        for (size_t i = 0; i < DEEP; i++) {
            entered(thread, epochs[i % 2]);
            CHECK(scope_value(thread) == epochs[i % 2]);
            fast_free(allocated(thread, epochs[i % 2], 16));
        }
        CHECK_SAY(units_of_chunks() == 2 * CHUNK_UNITS, "%zu units of chunks", units_of_chunks());
        CHECK(round == 0 || counter_get(&meta_bytes) == before);
        CHECK(holds_of(epochs[0]) == 1 && holds_of(epochs[1]) == 1);
        for (size_t i = DEEP; i > 0; i--) {
            CHECK(scope_leave(thread, epochs[i % 2]) == TSLAB_NOT_INSIDE);
            left(thread, epochs[(i - 1) % 2]);
        }
        CHECK(scope_value(thread) == 0);
    }
}

IN_A_CHILD(where_plain_malloc_lands)
{
    struct thread *const thread = current_thread_get();
    const uint64_t a = opened(), b = opened();
    struct hold *holds[2];
    entered(thread, a);
    holds[0] = thread->scope;
    entered(thread, b);
    holds[1] = thread->scope;
    entered(thread, a);
    CHECK(front_current->innermost == holds[0] && front_current->filling == holds[0]);
    scope_pause(thread);
    CHECK(front_current == &thread->heap.front && front_current->innermost == holds[0]);
    entered(thread, b);
    CHECK(scope_resume(thread));
    CHECK(front_current->filling == holds[1]);
    left(thread, b);
    CHECK(front_current->filling == holds[0]);
    left(thread, a);
    CHECK(front_current->innermost == holds[1] && front_current->filling == holds[1]);
    left(thread, b);
    CHECK(front_current->filling == holds[0]);
    closed(b, TSLAB_OK);
    left(thread, a);
    CHECK(front_current == &thread->heap.front);
    closed(a, TSLAB_OK);
}

IN_A_CHILD(an_inner_scope_advances)
{
    struct thread *const thread = current_thread_get();
    for (int in_between = 0; in_between < 2; in_between++) {
        const uint64_t old = opened(), other = opened();
        uint64_t next = old;
        entered(thread, old);
        if (in_between) {
            entered(thread, other);
        }
        entered(thread, old);
        CHECK(scope_advance(thread, &next, false, NULL) == TSLAB_PENDING && next != old);
        CHECK(scope_value(thread) == next);
        left(thread, next);
        if (in_between) {
            CHECK(scope_value(thread) == other);
            left(thread, other);
        }
        CHECK(scope_value(thread) == old && epoch_by_value(old) != NULL);
        left(thread, old);
        CHECK(scope_value(thread) == 0 && epoch_by_value(old) == NULL);
        closed(next, TSLAB_OK);
        closed(other, TSLAB_OK);
    }
}

/* A record stays warm with its chunk, whoever freed what was in it. */
IN_A_CHILD(a_warm_record_keeps_its_chunk)
{
    struct thread *const thread = current_thread_get();
    for (int way = 0; way < 3; way++) {
        const uint64_t epoch = opened();
        entered(thread, epoch);
        void *const p = allocated(thread, epoch, 100);
        if (way == 0) {
            fast_free(p);
        }
        left(thread, epoch);
        if (way == 1) {
            fast_free(p);
        }
        if (way < 2) {
            closed(epoch, TSLAB_OK);
        } else {
            CHECK(ending_release(thread, epoch, false, NULL) == TSLAB_OK);
        }
        CHECK(epoch_by_value(epoch) == NULL);
        CHECK_SAY(units_of_chunks() == CHUNK_UNITS, "way %d keeps %zu units", way, units_of_chunks());
    }
}

/* Epochs that stay open, in which much was allocated and all of it freed: what they had serves others, but for what the
 * thread left last. */
IN_A_CHILD(open_epochs_without_objects_have_nothing)
{
    enum { EPOCHS = 8, OBJECTS = 100, SIZE = 4000 };
    static void *objects[OBJECTS];
    struct thread *const thread = current_thread_get();
    uint32_t most = 0;
    for (unsigned i = 0; i < EPOCHS; i++) {
        const uint64_t epoch = opened();
        for (unsigned wave = 0; wave < 3; wave++) {
            entered(thread, epoch);
            for (unsigned k = 0; k < OBJECTS; k++) {
                objects[k] = allocated(thread, epoch, SIZE - k);
            }
            CHECK(wave == 0 || thread->scope->heap != NULL);
            for (unsigned k = 0; k < OBJECTS; k++) {
                fast_free(objects[k]);
            }
            left(thread, epoch);
        }
        most = i == 0 ? counter_get(&depot.units[RUN_USED]) : most;
    }
    CHECK_SAY(counter_get(&depot.units[RUN_USED]) <= most + CHUNK_UNITS, "from %u to %u units", most,
              (unsigned)counter_get(&depot.units[RUN_USED]));
    scope_leave_all(thread);
    CHECK(units_of_chunks() == 0);
}
