/* The life of an epoch as the header tells it: opened, entered and left, closed, released and advanced, by one thread
 * or by several, and what each of these answers when it is called at the wrong time or with the wrong value. */
#include "epoch.h"

static const enum tslab_policy policies[] = { TSLAB_DRAIN, TSLAB_RELEASE, TSLAB_REPORT, TSLAB_TRAP };

static void opens_enters_leaves_and_closes(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (unsigned flags = 0; flags <= TSLAB_VOUCHED; flags++) {
            const tslab_epoch epoch =
                opened_with(&(struct tslab_epoch_options){ .policy = policies[i], .flags = flags });
            CHECK(same(tslab_epoch_current(), no_epoch));
            STATUS(tslab_epoch_enter(epoch), entered_status(policies[i], flags));
            CHECK(same(tslab_epoch_current(), epoch));
            tslab_free(filled(epoch, 100, i));
            STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
            CHECK(same(tslab_epoch_current(), no_epoch));
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
            check_gone(epoch);
        }
    }
}

static void an_epoch_need_not_be_entered(void)
{
    const tslab_epoch epoch = opened();
    void *const p = filled(epoch, 100, 1);
    void *const q = tslab_epoch_calloc(epoch, 10, 100);
    CHECK(all_zero(q, 1000) && same(tslab_epoch_of(q), epoch));
    void *const r = tslab_epoch_aligned_alloc(epoch, 4096, 100);
    CHECK((uintptr_t)r % 4096 == 0 && same(tslab_epoch_of(r), epoch));
    CHECK(same(tslab_epoch_current(), no_epoch));
    verify_and_free(p, 100, 1);
    tslab_free(q);
    tslab_free(r);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

/* What nobody opened. */

static void values_that_name_none_are_refused(void)
{
    check_gone(no_epoch);
    const tslab_epoch epoch = opened();
    void *const p = filled(epoch, 100, 1);
    for (unsigned bit = 0; bit < 64; bit++) {
        check_gone((tslab_epoch){ epoch.id ^ (uint64_t)1 << bit });
    }
    for (uint64_t by = 1; by <= 100; by++) {
        check_gone((tslab_epoch){ epoch.id + by });
        check_gone((tslab_epoch){ epoch.id - by });
        check_gone((tslab_epoch){ by });
        check_gone((tslab_epoch){ UINT64_MAX - by });
    }
    uint64_t random = 7;
    for (size_t i = 0; i < times(100000); i++) {
        check_gone((tslab_epoch){ random_next(&random) });
    }
    CHECK(stats_of(epoch).live_objects == 1 && stats_of(epoch).inside == 0);
    verify_and_free(p, 100, 1);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

static int by_id(const void *a, const void *b)
{
    const uint64_t left = ((const tslab_epoch *)a)->id, right = ((const tslab_epoch *)b)->id;
    return left < right ? -1 : left > right;
}

/* Places are used again, values never. */
static void a_value_is_not_used_again(void)
{
    enum { OPEN = 5, REMEMBERED = 50 };
    const size_t count = times(200000);
    tslab_epoch *const all = calloc(count, sizeof *all);
    CHECK(all != NULL);
    uint64_t random = 3;
    for (size_t i = 0; i < count; i++) {
        all[i] = opened();
        if (i >= OPEN) {
            STATUS(tslab_epoch_close(all[i - OPEN], 0, NULL), TSLAB_OK);
        }
        if (i >= OPEN && i % 100 == 0) {
            check_gone(all[below(&random, i - OPEN + 1)]);
            check_gone(all[i - OPEN - below(&random, i < OPEN + REMEMBERED ? 1 : REMEMBERED)]);
            STATUS(tslab_epoch_enter(all[i]), entered_status(TSLAB_DRAIN, 0));
            check_gone(all[i - OPEN]);
            leave(all[i]);
        }
    }
    for (size_t i = count - OPEN; i < count; i++) {
        STATUS(tslab_epoch_close(all[i], 0, NULL), TSLAB_OK);
    }
    qsort(all, count, sizeof *all, by_id);
    for (size_t i = 1; i < count; i++) {
        CHECK_SAY(all[i - 1].id != all[i].id, "%#llx named two epochs", (unsigned long long)all[i].id);
    }
    free(all);
}

/* Leaving. */

static void check_not_inside(tslab_epoch epoch)
{
    const tslab_epoch before = tslab_epoch_current();
    STATUS(tslab_epoch_leave(epoch), TSLAB_NOT_INSIDE);
    CHECK(same(tslab_epoch_current(), before));
}

static void do_check_not_inside(void *epoch)
{
    check_not_inside(*(tslab_epoch *)epoch);
}

static void leaving_what_was_not_entered_last_is_refused(void)
{
    tslab_epoch outer = opened(), inner = opened(), other = opened();
    check_not_inside(outer);
    enter(outer);
    check_not_inside(inner);
    enter(inner);
    check_not_inside(outer);
    check_not_inside(other);
    struct helper helper;
    helper_start(&helper);
    helper_does(&helper, do_check_not_inside, &inner); /* it is this thread that is inside */
    helper_does(&helper, do_enter, &other);
    check_not_inside(other);
    helper_does(&helper, do_leave, &other);
    helper_ends(&helper);
    CHECK(stats_of(inner).inside == 1 && stats_of(outer).inside == 1 && stats_of(other).inside == 0);
    leave(inner);
    check_not_inside(inner);
    leave(outer);
    check_not_inside(outer);
    const tslab_epoch all[] = { outer, inner, other };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        STATUS(tslab_epoch_close(all[i], 0, NULL), TSLAB_OK);
    }
}

static void scopes_nest(void)
{
    enum { DEPTH = 1000 };
    static tslab_epoch epochs[DEPTH];
    static void *objects[DEPTH], *more[DEPTH];
    for (size_t i = 0; i < DEPTH; i++) {
        epochs[i] = opened();
        enter(epochs[i]);
        objects[i] = fill(tslab_malloc(100 + i), 100 + i, i);
        CHECK(same(tslab_epoch_of(objects[i]), epochs[i]));
    }
    for (size_t i = DEPTH; i-- > 0;) {
        CHECK(same(tslab_epoch_current(), epochs[i]));
        more[i] = fill(tslab_malloc(50 + i), 50 + i, i);
        CHECK(same(tslab_epoch_of(more[i]), epochs[i]));
        leave(epochs[i]);
    }
    void *const outside = tslab_malloc(100);
    CHECK(same(tslab_epoch_of(outside), no_epoch));
    tslab_free(outside);
    for (size_t i = 0; i < DEPTH; i++) {
        verify_and_free(objects[i], 100 + i, i);
        verify_and_free(more[i], 50 + i, i);
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
        check_gone(epochs[i]);
    }
}

static void an_epoch_may_be_entered_twice_by_a_thread(void)
{
    const tslab_epoch epoch = opened(), between = opened();
    enter(epoch);
    enter(epoch);
    leave(epoch);
    CHECK(same(tslab_epoch_current(), epoch));
    enter(between);
    enter(epoch);
    void *const p = fill(tslab_malloc(64), 64, 1);
    CHECK(same(tslab_epoch_of(p), epoch));
    check_not_inside(between);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
    leave(epoch);
    CHECK(same(tslab_epoch_current(), between));
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_CLOSING);
    leave(between);
    CHECK(same(tslab_epoch_current(), epoch));
    verify(p, 64, 1);
    leave(epoch);
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
    verify_and_free(p, 64, 1);
    check_gone(epoch);
    STATUS(tslab_epoch_close(between, 0, NULL), TSLAB_OK);
}

/* Several threads. */

enum { CARRIED = 200 };

struct task {
    tslab_epoch epoch;
    uint64_t random;
    void *objects[CARRIED];
    size_t sizes[CARRIED];
};

/* A step of a task on whatever thread it finds itself: half of what it holds is new afterwards. */
static void step_task(void *argument)
{
    struct task *const task = (struct task *)argument;
    enter(task->epoch);
    for (size_t n = 0; n < CARRIED / 2; n++) {
        const size_t i = below(&task->random, CARRIED);
        if (task->objects[i] != NULL) {
            verify_and_free(task->objects[i], task->sizes[i], i);
        }
        task->sizes[i] = some_size(&task->random);
        task->objects[i] = fill(tslab_malloc(task->sizes[i]), task->sizes[i], i);
        CHECK(same(tslab_epoch_of(task->objects[i]), task->epoch));
    }
    leave(task->epoch);
}

static void a_task_takes_its_epoch_along(void)
{
    enum { THREADS = 4, TASKS = 3 };
    struct helper helpers[THREADS];
    static struct task tasks[TASKS];
    uint64_t random = 5;
    for (size_t i = 0; i < TASKS; i++) {
        tasks[i] = (struct task){ .epoch = opened(), .random = i + 1 };
    }
    for (size_t i = 0; i < THREADS; i++) {
        helper_start(&helpers[i]);
    }
    for (size_t i = 0; i < times(2000); i++) {
        helper_does(&helpers[below(&random, THREADS)], step_task, &tasks[below(&random, TASKS)]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        helper_ends(&helpers[i]);
    }
    for (size_t i = 0; i < TASKS; i++) {
        size_t live = 0;
        for (size_t at = 0; at < CARRIED; at++) {
            live += tasks[i].objects[at] != NULL;
        }
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_close(tasks[i].epoch, 0, &report), TSLAB_OK);
        CHECK_SAY(report.survivors == live, "%llu of %zu survive", (unsigned long long)report.survivors, live);
        for (size_t at = 0; at < CARRIED; at++) {
            if (tasks[i].objects[at] != NULL) {
                verify_and_free(tasks[i].objects[at], tasks[i].sizes[at], at);
            }
        }
        check_gone(tasks[i].epoch);
    }
}

enum { INSIDERS = 8, PASSED = 64 };

static struct {
    tslab_epoch epoch;
    pthread_barrier_t barrier;
    void *_Atomic passed[PASSED]; /* each with its size in the first word, the
                                     seed in the second */
} shared_epoch;

static void free_passed(size_t *p)
{
    if (p != NULL) {
        verify(p + 2, p[0] - 16, p[1]);
        tslab_free(p);
    }
}

static void *be_inside(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    enter(shared_epoch.epoch);
    pthread_barrier_wait(&shared_epoch.barrier);
    CHECK(stats_of(shared_epoch.epoch).inside == INSIDERS);
    pthread_barrier_wait(&shared_epoch.barrier);
    for (size_t i = 0; i < times(20000); i++) {
        const size_t size = 16 + some_size(&random);
        size_t *const p = tslab_malloc(size);
        CHECK(p != NULL && same(tslab_epoch_of(p), shared_epoch.epoch));
        p[0] = size;
        p[1] = random;
        pattern_fill(p + 2, size - 16, random);
        free_passed(atomic_exchange(&shared_epoch.passed[below(&random, PASSED)], p));
    }
    pthread_barrier_wait(&shared_epoch.barrier);
    leave(shared_epoch.epoch);
    return NULL;
}

static void several_threads_are_inside_at_once(void)
{
    shared_epoch.epoch = opened();
    CHECK(pthread_barrier_init(&shared_epoch.barrier, NULL, INSIDERS) == 0);
    pthread_t threads[INSIDERS];
    for (size_t i = 0; i < INSIDERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, be_inside, (void *)(i + 1)) == 0);
    }
    for (size_t i = 0; i < INSIDERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(stats_of(shared_epoch.epoch).inside == 0);
    size_t live = 0;
    for (size_t i = 0; i < PASSED; i++) {
        live += shared_epoch.passed[i] != NULL;
    }
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(shared_epoch.epoch, TSLAB_RECLAIM, &report), TSLAB_OK);
    CHECK(report.survivors == live);
    for (size_t i = 0; i < PASSED; i++) {
        free_passed(shared_epoch.passed[i]);
    }
    check_gone(shared_epoch.epoch);
}

/* Threads that end inside. */

static void *end_inside(void *argument)
{
    const tslab_epoch *const epochs = argument;
    enter(epochs[0]);
    enter(epochs[1]);
    void *const p = filled(epochs[0], 1000, 1);
    (void)filled(epochs[1], 1000, 2);
    tslab_free(p);
    return (void *)1;
}

static void *exit_inside(void *argument)
{
    (void)end_inside(argument);
    pthread_exit(NULL);
}

static void *wait_inside_to_be_cancelled(void *argument)
{
    (void)end_inside(argument);
    for (;;) {
        pause();
    }
    return NULL;
}

static void *be_cancelled_inside(void *argument)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_inside_to_be_cancelled, argument) == 0);
    while (stats_of(((const tslab_epoch *)argument)[1]).live_objects == 0) {
        usleep(1000);
    }
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return NULL;
}

static void a_thread_that_ends_leaves_its_scopes(void)
{
    static void *(*const ends[])(void *) = { end_inside, exit_inside, be_cancelled_inside };
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        tslab_epoch epochs[] = { opened(), opened() };
        in_a_thread(ends[i], epochs);
        CHECK(stats_of(epochs[0]).inside == 0 && stats_of(epochs[1]).inside == 0);
        STATUS(tslab_epoch_close(epochs[0], 0, NULL), TSLAB_OK);
        check_gone(epochs[0]);
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_close(epochs[1], 0, &report), TSLAB_OK);
        CHECK(report.survivors == 1);
        STATUS(tslab_epoch_release(epochs[1], 0, NULL), TSLAB_OK);
        check_gone(epochs[1]);
    }
}

static void do_enter_and_survive(void *epoch)
{
    enter(*(tslab_epoch *)epoch);
    (void)filled(*(tslab_epoch *)epoch, 100, 1);
}

static void the_end_of_a_thread_completes_a_close(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .policy = policies[i] });
        void *const freed_later = policies[i] == TSLAB_REPORT ? NULL : filled(epoch, 64, 2);
        struct helper helper;
        helper_start(&helper);
        helper_does(&helper, policies[i] == TSLAB_REPORT ? do_enter : do_enter_and_survive, &epoch);
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
        CHECK(stats_of(epoch).state == TSLAB_EPOCH_CLOSING && stats_of(epoch).inside == 1);
        helper_ends(&helper);
        if (policies[i] == TSLAB_DRAIN) {
            CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING && stats_of(epoch).live_objects == 2);
            verify_and_free(freed_later, 64, 2);
            STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        }
        check_gone(epoch);
    }
}

/* Destructors of a thread's own data run when it ends, before or after the library's own. */

static pthread_key_t keys[20];

static void work_in_destructor(void *argument)
{
    const tslab_epoch *const epochs = argument;
    tslab_free(filled(epochs[0], 100, 1));
    enter(epochs[1]);
    void *const p = fill(tslab_malloc(200), 200, 2);
    CHECK(same(tslab_epoch_of(p), epochs[1]));
    tslab_free(p);
    leave(epochs[1]);
    const tslab_epoch own = opened();
    enter(own);
    void *const survivor = filled(own, 300, 3);
    leave(own);
    STATUS(tslab_epoch_close(own, 0, NULL), TSLAB_OK);
    verify_and_free(survivor, 300, 3);
    check_gone(own);
    tslab_handle handle = tslab_handle_malloc(epochs[0], 40, NULL);
    CHECK(tslab_handle_get(epochs[0], handle) != NULL);
    STATUS(tslab_handle_free(epochs[0], handle), TSLAB_OK);
}

static void *set_keys(void *argument)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        CHECK(pthread_setspecific(keys[i], argument) == 0);
    }
    enter(*(tslab_epoch *)argument);
    return NULL;
}

static void destructors_of_threads_use_epochs(void)
{
    tslab_epoch epochs[] = { opened(), opened() };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        CHECK(pthread_key_create(&keys[i], work_in_destructor) == 0);
    }
    tslab_free(tslab_malloc(1)); /* the library's own key is among them */
    for (int i = 0; i < 10; i++) {
        in_a_thread(set_keys, epochs);
    }
    for (size_t i = 0; i < COUNT_OF(epochs); i++) {
        const struct tslab_epoch_stats stats = stats_of(epochs[i]);
        CHECK(stats.inside == 0 && stats.live_objects == 0);
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
        check_gone(epochs[i]);
    }
}

/* Closing. */

/* A closed epoch that is still there takes nobody in, and nothing. */
static void check_closed(tslab_epoch epoch)
{
    const struct tslab_epoch_stats before = stats_of(epoch);
    const tslab_epoch current = tslab_epoch_current();
    CHECK(before.state != TSLAB_EPOCH_OPEN);
    STATUS(tslab_epoch_enter(epoch), TSLAB_CLOSED);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_CLOSED);
    tslab_epoch advanced = epoch;
    STATUS(tslab_epoch_advance(&advanced, 0, NULL), TSLAB_CLOSED);
    CHECK(same(advanced, epoch));
    errno = 0;
    CHECK(tslab_epoch_malloc(epoch, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_epoch_calloc(epoch, 2, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_epoch_aligned_alloc(epoch, 64, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_handle_malloc(epoch, 10, NULL).id == 0 && errno == EINVAL);
    const struct tslab_epoch_stats after = stats_of(epoch);
    CHECK(after.state == before.state && after.inside == before.inside && after.live_objects == before.live_objects &&
          after.live_bytes == before.live_bytes);
    CHECK(same(tslab_epoch_current(), current));
}

static void do_check_closed(void *epoch)
{
    check_closed(*(tslab_epoch *)epoch);
}

static void a_drained_epoch_is_gone(void)
{
    const tslab_epoch epoch = opened();
    void *objects[100];
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = filled(epoch, 100, i);
    }
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
    CHECK(report.survivors == COUNT_OF(objects));
    CHECK(report.reclaimed_bytes == 0 && report.rss_change_bytes == 0);
    check_closed(epoch);
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        ALIVE(epoch, COUNT_OF(objects) - i);
        CHECK(same(tslab_epoch_of(objects[i]), epoch));
        verify_and_free(objects[i], 100, i);
    }
    check_gone(epoch);
}

static void the_last_to_leave_completes_a_close(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .policy = policies[i] });
        struct helper helpers[2];
        for (size_t n = 0; n < COUNT_OF(helpers); n++) {
            helper_start(&helpers[n]);
            helper_does(&helpers[n], do_enter, &epoch);
        }
        enter(epoch);
        const bool survivors = policies[i] != TSLAB_REPORT;
        void *const p = survivors ? filled(epoch, 500, i) : NULL;
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_PENDING);
        CHECK(stats_of(epoch).inside == 3 && stats_of(epoch).state == TSLAB_EPOCH_CLOSING);
        check_closed(epoch);
        for (size_t n = 0; n < COUNT_OF(helpers); n++) {
            helper_does(&helpers[n], do_check_closed, &epoch);
        }
        /* It is still inside, so its survivors are whole, and what it frees is freed. */
        leave(epoch);
        helper_does(&helpers[0], do_leave, &epoch);
        if (survivors) {
            verify(p, 500, i);
        }
        CHECK(stats_of(epoch).inside == 1 && stats_of(epoch).state == TSLAB_EPOCH_CLOSING);
        check_closed(epoch);
        helper_does(&helpers[1], do_leave, &epoch);
        if (policies[i] == TSLAB_DRAIN) {
            CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
            check_closed(epoch);
            verify(p, 500, i);
            helper_does(&helpers[0], do_free, p);
        }
        check_gone(epoch);
        for (size_t n = 0; n < COUNT_OF(helpers); n++) {
            helper_ends(&helpers[n]);
        }
    }
}

static void whoever_is_inside_of_a_closed_epoch_can_go_on(void)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    void *objects[300];
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = filled(epoch, 16 * (i % 30) + 1, i);
    }
    STATUS(tslab_epoch_close(epoch, TSLAB_RECLAIM, NULL), TSLAB_PENDING);
    CHECK(same(tslab_epoch_current(), epoch));
    /* It may allocate, but the epoch takes nothing more. */
    void *others[1000];
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        others[i] = fill(tslab_malloc(100), 100, i);
        CHECK(!same(tslab_epoch_of(others[i]), epoch));
    }
    for (size_t i = 0; i < COUNT_OF(objects); i += 2) {
        verify_and_free(objects[i], 16 * (i % 30) + 1, i);
    }
    ALIVE(epoch, COUNT_OF(objects) / 2);
    leave(epoch);
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
    for (size_t i = 1; i < COUNT_OF(objects); i += 2) {
        verify_and_free(objects[i], 16 * (i % 30) + 1, i);
    }
    check_gone(epoch);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        verify_and_free(others[i], 100, i);
    }
}

static void a_closed_scope_may_be_outside_of_an_open_one(void)
{
    const tslab_epoch outer = opened(), inner = opened();
    enter(outer);
    void *const p = filled(outer, 100, 1);
    enter(inner);
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_PENDING);
    void *const q = fill(tslab_malloc(100), 100, 2);
    CHECK(same(tslab_epoch_of(q), inner));
    leave(inner);
    CHECK(same(tslab_epoch_current(), outer));
    verify_and_free(q, 100, 2);
    verify_and_free(p, 100, 1);
    leave(outer);
    check_gone(outer);
    STATUS(tslab_epoch_close(inner, 0, NULL), TSLAB_OK);
}

/* Releasing. */

static void do_check_busy(void *argument)
{
    tslab_epoch epoch = *(tslab_epoch *)argument;
    struct tslab_epoch_report report, untouched;
    memset(&report, 0x77, sizeof report);
    memset(&untouched, 0x77, sizeof untouched);
    const struct tslab_epoch_stats before = stats_of(epoch);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_BUSY);
    STATUS(tslab_epoch_release(epoch, TSLAB_RECLAIM, &report), TSLAB_BUSY);
    CHECK(memcmp(&report, &untouched, sizeof report) == 0);
    const struct tslab_epoch_stats after = stats_of(epoch);
    CHECK(after.state == before.state && after.inside == before.inside && after.live_objects == before.live_objects &&
          after.live_bytes == before.live_bytes && after.memory_bytes == before.memory_bytes);
}

static void release_waits_for_nobody(void)
{
    tslab_epoch epoch = opened();
    struct helper helper;
    helper_start(&helper);
    void *const p = filled(epoch, 5000, 1);
    /* Another thread is inside, this one, both. */
    helper_does(&helper, do_enter, &epoch);
    do_check_busy(&epoch);
    helper_does(&helper, do_check_busy, &epoch);
    enter(epoch);
    do_check_busy(&epoch);
    helper_does(&helper, do_leave, &epoch);
    do_check_busy(&epoch);
    tslab_free(filled(epoch, 40, 2));
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
    do_check_busy(&epoch);
    helper_does(&helper, do_check_busy, &epoch);
    leave(epoch);
    verify(p, 5000, 1);
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_release(epoch, 0, &report), TSLAB_OK);
    CHECK(report.survivors == 1 && report.survivor_bytes >= 5000);
    check_gone(epoch);
    helper_ends(&helper);
}

static void release_ends_every_policy(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (int closed = 0; closed < 2; closed++) {
            if (closed != 0 && policies[i] != TSLAB_DRAIN) {
                continue; /* nothing is left of them, or a line on stderr says what */
            }
            const tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .policy = policies[i] });
            for (size_t n = 0; n < 1000; n++) {
                (void)filled(epoch, 16 + n, n);
            }
            (void)filled(epoch, 3 * MEGABYTE, 1);
            if (closed != 0) {
                STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
            }
            struct tslab_epoch_report report;
            STATUS(tslab_epoch_release(epoch, 0, &report), TSLAB_OK);
            CHECK(report.survivors == 1001);
            CHECK(report.survivor_bytes >= 3 * MEGABYTE + 500 * 1000);
            CHECK(report.reclaimed_bytes == 0 && report.rss_change_bytes == 0);
            check_gone(epoch);
        }
    }
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.large_bytes == 0, "%zu bytes of large objects are left", stats.large_bytes);
}

static void an_empty_epoch_can_be_released(void)
{
    const tslab_epoch epoch = opened();
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_release(epoch, TSLAB_RECLAIM, &report), TSLAB_OK);
    CHECK(report.survivors == 0 && report.survivor_bytes == 0);
    check_gone(epoch);
}

/* Advancing. */

static void advance_opens_the_next_with_the_same_options(void)
{
    const tslab_epoch parent = opened_as("parent", TSLAB_DRAIN);
    const tslab_instance instance = tslab_instance_open("instance");
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .label = "generation",
                                                                       .parent = parent,
                                                                       .instance = instance,
                                                                       .policy = policies[i],
                                                                       .flags = TSLAB_VOUCHED });
        for (int n = 0; n < 10; n++) {
            const tslab_epoch before = epoch;
            struct tslab_epoch_report report;
            tslab_free(filled(epoch, 100, 1));
            STATUS(tslab_epoch_advance(&epoch, 0, &report), TSLAB_OK);
            CHECK(report.survivors == 0);
            CHECK(!same(epoch, before));
            check_gone(before);
            const struct tslab_epoch_stats stats = stats_of(epoch);
            CHECK(strcmp(stats.label, "generation") == 0);
            CHECK(same(stats.parent, parent) && stats.instance.id == instance.id && stats.policy == policies[i]);
            CHECK(stats.state == TSLAB_EPOCH_OPEN && stats.inside == 0);
            STATUS(tslab_epoch_enter(epoch), entered_status(policies[i], TSLAB_VOUCHED));
            leave(epoch);
        }
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    }
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(parent, 0, NULL), TSLAB_OK);
}

static void advance_takes_the_innermost_scope_along(void)
{
    const tslab_epoch outer = opened();
    tslab_epoch epoch = opened();
    enter(outer);
    enter(epoch);
    void *survivors[20];
    for (size_t i = 0; i < COUNT_OF(survivors); i++) {
        const tslab_epoch before = epoch;
        survivors[i] = fill(tslab_malloc(100), 100, i);
        CHECK(same(tslab_epoch_of(survivors[i]), before));
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_advance(&epoch, 0, &report), TSLAB_OK);
        CHECK(report.survivors == 1);
        CHECK(same(tslab_epoch_current(), epoch) && !same(epoch, before));
        CHECK(stats_of(epoch).inside == 1);
        CHECK(stats_of(before).inside == 0 && stats_of(before).state == TSLAB_EPOCH_DRAINING);
        if (i % 2 == 0) {
            verify_and_free(survivors[i], 100, i);
            check_gone(before);
        }
    }
    leave(epoch);
    CHECK(same(tslab_epoch_current(), outer));
    leave(outer);
    for (size_t i = 1; i < COUNT_OF(survivors); i += 2) {
        verify_and_free(survivors[i], 100, i);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_OK);
}

static void advance_of_another_scope_leaves_this_thread_where_it_is(void)
{
    tslab_epoch outer = opened();
    const tslab_epoch old = outer, inner = opened();
    enter(outer);
    enter(inner);
    STATUS(tslab_epoch_advance(&outer, 0, NULL), TSLAB_PENDING);
    CHECK(!same(outer, old));
    CHECK(same(tslab_epoch_current(), inner));
    CHECK(stats_of(outer).inside == 0 && stats_of(old).state == TSLAB_EPOCH_CLOSING);
    leave(inner);
    CHECK(same(tslab_epoch_current(), old));
    leave(old);
    check_gone(old);
    CHECK(same(tslab_epoch_current(), no_epoch));
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(inner, 0, NULL), TSLAB_OK);
}

static void advance_while_another_is_inside_is_pending(void)
{
    tslab_epoch epoch = opened();
    tslab_epoch old = epoch;
    struct helper helper;
    helper_start(&helper);
    helper_does(&helper, do_enter, &old);
    enter(epoch);
    STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_PENDING);
    CHECK(same(tslab_epoch_current(), epoch) && !same(epoch, old));
    CHECK(stats_of(old).inside == 1 && stats_of(epoch).inside == 1);
    helper_does(&helper, do_leave, &old);
    check_gone(old);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    helper_ends(&helper);
}

/* Options. */

static void options_are_kept(void)
{
    char label[100] = "a label of an epoch";
    const tslab_epoch parent = opened();
    struct tslab_epoch_options options = { .label = label, .parent = parent, .policy = TSLAB_REPORT };
    const tslab_epoch epoch = opened_with(&options);
    memset(label, 'x', sizeof label - 1);
    options = (struct tslab_epoch_options){ 0 };
    struct tslab_epoch_stats stats = stats_of(epoch);
    CHECK(strcmp(stats.label, "a label of an epoch") == 0);
    CHECK(same(stats.parent, parent) && stats.policy == TSLAB_REPORT && stats.state == TSLAB_EPOCH_OPEN);
    CHECK(stats.inside == 0 && stats.closed_ms == 0 && stats.live_objects == 0 && stats.live_bytes == 0);
    stats = stats_of(parent);
    CHECK(stats.label[0] == 0 && stats.parent.id == 0 && stats.policy == TSLAB_DRAIN);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(parent, 0, NULL), TSLAB_OK);
    for (size_t length = 0; length < 64; length++) {
        memset(label, 'y', length);
        label[length] = 0;
        const tslab_epoch labelled = opened_as(label, TSLAB_DRAIN);
        stats = stats_of(labelled);
        CHECK(strlen(stats.label) == (length < 31 ? length : 31) && strncmp(stats.label, label, 31) == 0);
        STATUS(tslab_epoch_close(labelled, 0, NULL), TSLAB_OK);
    }
}

static void check_bad_options(struct tslab_epoch_options options)
{
    const size_t before = tslab_epoch_list(NULL, 0);
    errno = 0;
    CHECK(tslab_epoch_open(&options).id == 0 && errno == EINVAL);
    CHECK(tslab_epoch_list(NULL, 0) == before);
}

static void bad_options_are_refused(void)
{
    const tslab_epoch gone = opened();
    STATUS(tslab_epoch_close(gone, 0, NULL), TSLAB_OK);
    const tslab_instance closed = tslab_instance_open("closed");
    CHECK(closed.id != 0);
    STATUS(tslab_instance_close(closed, 0, NULL), TSLAB_OK);
    for (unsigned policy = TSLAB_TRAP + 1; policy < 300; policy++) {
        check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(policy) });
    }
    check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(UINT32_MAX) });
    for (unsigned bit = 1; bit < 32; bit++) {
        check_bad_options((struct tslab_epoch_options){ .flags = 1u << bit });
        check_bad_options((struct tslab_epoch_options){ .flags = 1u << bit | TSLAB_VOUCHED });
    }
    check_bad_options((struct tslab_epoch_options){ .parent = gone });
    check_bad_options((struct tslab_epoch_options){ .parent = { UINT64_MAX } });
    check_bad_options((struct tslab_epoch_options){ .parent = { 1 } });
    check_bad_options((struct tslab_epoch_options){ .instance = closed });
    check_bad_options((struct tslab_epoch_options){ .instance = { UINT64_MAX } });
    check_bad_options((struct tslab_epoch_options){ .instance = { 12345678 } });
}

static void bad_arguments_are_refused(void)
{
    tslab_epoch epoch = opened();
    const tslab_epoch before = epoch;
    const tslab_instance instance = tslab_instance_open("arguments");
    void *const p = filled(epoch, 100, 1);
    for (unsigned bit = 1; bit < 32; bit++) {
        struct tslab_epoch_report report, untouched;
        memset(&report, 0x77, sizeof report);
        memset(&untouched, 0x77, sizeof untouched);
        for (unsigned flag = 0; flag <= TSLAB_RECLAIM; flag++) {
            const unsigned how = 1u << bit | flag;
            STATUS(tslab_epoch_close(epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_epoch_release(epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_epoch_advance(&epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_instance_close(instance, how, &report), TSLAB_INVALID);
        }
        CHECK(memcmp(&report, &untouched, sizeof report) == 0);
    }
    CHECK(same(epoch, before) && stats_of(epoch).state == TSLAB_EPOCH_OPEN);
    verify_and_free(p, 100, 1);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* An error leaves the report as it was. */
static void a_refused_call_writes_no_report(void)
{
    tslab_epoch epoch = opened();
    void *const p = filled(epoch, 100, 1);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    struct tslab_epoch_report report, untouched;
    memset(&report, 0x77, sizeof report);
    memset(&untouched, 0x77, sizeof untouched);
    STATUS(tslab_epoch_close(epoch, TSLAB_RECLAIM, &report), TSLAB_CLOSED);
    STATUS(tslab_epoch_advance(&epoch, TSLAB_RECLAIM, &report), TSLAB_CLOSED);
    verify_and_free(p, 100, 1);
    STATUS(tslab_epoch_close(epoch, TSLAB_RECLAIM, &report), TSLAB_STALE);
    STATUS(tslab_epoch_release(epoch, TSLAB_RECLAIM, &report), TSLAB_STALE);
    STATUS(tslab_epoch_advance(&epoch, TSLAB_RECLAIM, &report), TSLAB_STALE);
    CHECK(memcmp(&report, &untouched, sizeof report) == 0);
}

static void a_report_tells_of_the_survivors(void)
{
    const tslab_epoch epoch = opened();
    uint64_t random = 11;
    void *objects[1000];
    size_t bytes = 0, count = 0;
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = filled(epoch, some_size(&random), i);
    }
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        if (i % 10 == 0) {
            bytes += tslab_usable_size(objects[i]);
            count++;
        } else {
            tslab_free(objects[i]);
            objects[i] = NULL;
        }
    }
    usleep(30 * 1000);
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
    CHECK_SAY(report.survivors == count, "%llu survivors, not %zu", (unsigned long long)report.survivors, count);
    CHECK_SAY(report.survivor_bytes == bytes, "%llu bytes survive, not %zu", (unsigned long long)report.survivor_bytes,
              bytes);
    CHECK_SAY(report.age_ms >= 20 && report.age_ms < 1000 * PATIENCE_SECONDS, "it is %llu ms old",
              (unsigned long long)report.age_ms);
    CHECK(report.reclaimed_bytes == 0 && report.rss_change_bytes == 0);
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        tslab_free(objects[i]);
    }
    check_gone(epoch);
}

static void every_status_has_a_sentence(void)
{
    const char *texts[TSLAB_PENDING - TSLAB_INVALID + 1];
    for (int status = TSLAB_INVALID; status <= TSLAB_PENDING; status++) {
        const char *const text = tslab_status_text(status);
        CHECK(text != NULL && strlen(text) > 5 && strchr(text, '\n') == NULL);
        for (int other = TSLAB_INVALID; other < status; other++) {
            CHECK(strcmp(texts[other - TSLAB_INVALID], text) != 0);
        }
        texts[status - TSLAB_INVALID] = text;
    }
    static const int unknown[] = { TSLAB_INVALID - 1, TSLAB_PENDING + 1, 1000, -1000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        CHECK(tslab_status_text(unknown[i]) != NULL && strlen(tslab_status_text(unknown[i])) > 5);
    }
}

/* Before anything was allocated in the process, every function can be the first. */
static void do_close_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_epoch_close((tslab_epoch){ 77 }, 0, NULL), TSLAB_STALE);
}

static void do_leave_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_epoch_leave((tslab_epoch){ 77 }), TSLAB_NOT_INSIDE);
}

static void do_enter_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_epoch_enter((tslab_epoch){ 77 }), TSLAB_STALE);
}

static void do_list_first(const void *argument)
{
    (void)argument;
    CHECK(tslab_epoch_list(NULL, 0) == 0);
    CHECK(same(tslab_epoch_current(), no_epoch));
}

static void do_malloc_first(const void *argument)
{
    (void)argument;
    CHECK(tslab_epoch_malloc((tslab_epoch){ 77 }, 1) == NULL && errno == EINVAL);
}

static void do_instance_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_instance_close((tslab_instance){ 77 }, 0, NULL), TSLAB_STALE);
    CHECK(tslab_instance_root((tslab_instance){ 77 }).id == 0);
}

static void do_handle_first(const void *argument)
{
    (void)argument;
    CHECK(tslab_handle_get((tslab_epoch){ 77 }, (tslab_handle){ 77 }) == NULL);
    STATUS(tslab_handle_free((tslab_epoch){ 77 }, (tslab_handle){ 77 }), TSLAB_STALE);
}

static void any_call_may_be_the_first(void)
{
    static void (*const first[])(const void *) = {
        do_close_first,  do_leave_first,    do_enter_first,  do_list_first,
        do_malloc_first, do_instance_first, do_handle_first,
    };
    for (size_t i = 0; i < COUNT_OF(first); i++) {
        const struct child child = child_run(first[i], NULL);
        CHECK_SAY(child.status == 0 && child.said[0] == 0, "call %zu: %s", i, child.said);
    }
}

static const struct epoch_case cases[] = {
    CASE(opens_enters_leaves_and_closes),
    CASE(an_epoch_need_not_be_entered),
    CASE(values_that_name_none_are_refused),
    CASE(a_value_is_not_used_again),
    CASE(leaving_what_was_not_entered_last_is_refused),
    CASE(scopes_nest),
    CASE(an_epoch_may_be_entered_twice_by_a_thread),
    CASE(a_task_takes_its_epoch_along),
    CASE(several_threads_are_inside_at_once),
    CASE(a_thread_that_ends_leaves_its_scopes),
    CASE(the_end_of_a_thread_completes_a_close),
    CASE(destructors_of_threads_use_epochs),
    CASE(a_drained_epoch_is_gone),
    CASE(the_last_to_leave_completes_a_close),
    CASE(whoever_is_inside_of_a_closed_epoch_can_go_on),
    CASE(a_closed_scope_may_be_outside_of_an_open_one),
    CASE(release_waits_for_nobody),
    CASE(release_ends_every_policy),
    CASE(an_empty_epoch_can_be_released),
    CASE(advance_opens_the_next_with_the_same_options),
    CASE(advance_takes_the_innermost_scope_along),
    CASE(advance_of_another_scope_leaves_this_thread_where_it_is),
    CASE(advance_while_another_is_inside_is_pending),
    CASE(options_are_kept),
    CASE(bad_options_are_refused),
    CASE(bad_arguments_are_refused),
    CASE(a_refused_call_writes_no_report),
    CASE(a_report_tells_of_the_survivors),
    CASE(every_status_has_a_sentence),
    CASE(any_call_may_be_the_first),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
