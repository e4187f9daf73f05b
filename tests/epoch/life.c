/* The life of an epoch as the header tells it: opened, entered and left, by one thread or by several, which may hand it
 * on, be inside at once, or end inside. */
#include "epoch.h"

#include <dlfcn.h>

static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                              TSLAB_POLICY_TRAP };

static void opens_enters_leaves_and_closes(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (unsigned flags = 0; flags <= TSLAB_OPEN_VOUCHED; flags += TSLAB_OPEN_VOUCHED) {
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
    STATUS(tslab_epoch_close(shared_epoch.epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
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
    /* A cancelled thread does not come out of the functions that ThreadSanitizer intercepts. */
    for (size_t i = 0; i < COUNT_OF(ends) - EPOCH_SANITIZED; i++) {
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
        void *const freed_later = policies[i] == TSLAB_POLICY_REPORT ? NULL : filled(epoch, 64, 2);
        struct helper helper;
        helper_start(&helper);
        helper_does(&helper, policies[i] == TSLAB_POLICY_REPORT ? do_enter : do_enter_and_survive, &epoch);
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
        CHECK(stats_of(epoch).state == TSLAB_EPOCH_CLOSING && stats_of(epoch).inside == 1);
        helper_ends(&helper);
        if (policies[i] == TSLAB_POLICY_DRAIN) {
            CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING && stats_of(epoch).live_objects == 2);
            verify_and_free(freed_later, 64, 2);
            STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        }
        check_gone(epoch);
    }
}

/* Destructors of a thread's own data run when it ends, before or after the library's own. */

static pthread_key_t keys[20];
static atomic_uint entered_in_destructors, refused_in_destructors;
static tslab_epoch busy[10 * COUNT_OF(keys)]; /* the main thread is inside */

/* What a thread does by name after its end does not make it a thread again. */
static void stay_ended(tslab_epoch other, tslab_epoch entered_elsewhere, size_t objects)
{
    STATUS(tslab_epoch_enter(other), TSLAB_NO_MEMORY);
    STATUS(tslab_epoch_close(entered_elsewhere, 0, NULL), TSLAB_PENDING);
    STATUS(tslab_epoch_enter(other), TSLAB_NO_MEMORY);
    const tslab_epoch large = opened_with(&(struct tslab_epoch_options){ .policy = TSLAB_POLICY_RELEASE });
    for (size_t i = 0; i < objects; i++) {
        (void)filled(large, 2000, 1);
    }
    STATUS(tslab_epoch_enter(other), TSLAB_NO_MEMORY);
    STATUS(tslab_epoch_close(large, 0, NULL), TSLAB_OK);
}

static void work_in_destructor(void *argument)
{
    const tslab_epoch *const epochs = argument;
    tslab_free(filled(epochs[0], 100, 1));
    /* After the library's own destructor, nobody enters. */
    const int entered = tslab_epoch_enter(epochs[1]);
    CHECK(entered >= 0 || entered == TSLAB_NO_MEMORY);
    void *const p = fill(tslab_malloc(200), 200, 2);
    if (entered >= 0) {
        CHECK(same(tslab_epoch_of(p), epochs[1]));
        leave(epochs[1]);
    }
    tslab_free(p);
    const unsigned number = atomic_fetch_add(entered >= 0 ? &entered_in_destructors : &refused_in_destructors, 1);
    if (entered < 0) {
        stay_ended(epochs[1], busy[number], number % 10 == 0 ? 2000 : 50); /* more than chunks take; few */
    }
    const tslab_epoch own = opened();
    void *const survivor = filled(own, 300, 3);
    STATUS(tslab_epoch_close(own, 0, NULL), TSLAB_OK);
    verify_and_free(survivor, 300, 3);
    struct tslab_epoch_stats stats;
    STATUS(tslab_epoch_stats_get(own, &stats), TSLAB_STALE);
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

/* The drop-in knows a thread's rounds of destructors, so its threads join again. */
static bool is_counted(void)
{
    Dl_info info;
    return dladdr((void *)(uintptr_t)pthread_create, &info) != 0 && strstr(info.dli_fname, "tslab") != NULL;
}

static void destructors_of_threads_use_epochs(void)
{
    tslab_epoch epochs[] = { opened(), opened() };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        CHECK(pthread_key_create(&keys[i], work_in_destructor) == 0);
    }
    tslab_free(tslab_malloc(1)); /* the library's own key is among them */
    for (size_t i = 0; i < COUNT_OF(busy); i++) {
        busy[i] = opened();
        enter(busy[i]);
    }
    for (int i = 0; i < 10; i++) {
        in_a_thread(set_keys, epochs);
    }
    CHECK(entered_in_destructors + refused_in_destructors == 10 * COUNT_OF(keys));
    CHECK(refused_in_destructors > 0 || is_counted());
    for (size_t i = COUNT_OF(busy); i-- > 0;) {
        leave(busy[i]);
        STATUS(tslab_epoch_close(busy[i], 0, NULL), i < refused_in_destructors ? TSLAB_STALE : TSLAB_OK);
    }
    for (size_t i = 0; i < COUNT_OF(epochs); i++) {
        const struct tslab_epoch_stats stats = stats_of(epochs[i]);
        CHECK(stats.inside == 0 && stats.live_objects == 0);
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
        check_gone(epochs[i]);
    }
}

static const struct epoch_case cases[] = {
    CASE(opens_enters_leaves_and_closes),
    CASE(an_epoch_need_not_be_entered),
    CASE(leaving_what_was_not_entered_last_is_refused),
    CASE(scopes_nest),
    CASE(an_epoch_may_be_entered_twice_by_a_thread),
    CASE(a_task_takes_its_epoch_along),
    CASE(several_threads_are_inside_at_once),
    CASE(a_thread_that_ends_leaves_its_scopes),
    CASE(the_end_of_a_thread_completes_a_close),
    CASE(destructors_of_threads_use_epochs),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
