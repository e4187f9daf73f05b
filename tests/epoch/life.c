/* How scopes end that the fuzzer's lanes do not end: with a cancelled thread, in destructors of threads, and in all
 * orders around the scopes of an epoch that is closed. */
#include "epoch.h"

#include <dlfcn.h>

static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                              TSLAB_POLICY_TRAP };

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
    const pthread_t thread = thread_begin(wait_inside_to_be_cancelled, argument);
    while (stats_of(((const tslab_epoch *)argument)[1]).live_objects == 0) {
        usleep(1000);
    }
    CHECK(pthread_cancel(thread) == 0);
    (void)thread_end(thread);
    return NULL;
}

CASE(a_thread_that_ends_leaves_its_scopes)
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

/* Destructors of a thread's own data run when it ends, before or after the library's own. */

static pthread_key_t keys[20];
static atomic_uint entered_in_destructors, refused_in_destructors;
static tslab_epoch busy[10 * COUNT_OF(keys)]; /* the main thread is inside */

/* A thread that uses an epoch by name after its end does not join again. */
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

CASE(destructors_of_threads_use_epochs)
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

/* A closed epoch that is still there takes nobody in. */
static void check_entry_closed(tslab_epoch epoch)
{
    const tslab_epoch current = tslab_epoch_current();
    STATUS(tslab_epoch_enter(epoch), TSLAB_CLOSED);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_CLOSED);
    tslab_epoch advanced = epoch;
    STATUS(tslab_epoch_advance(&advanced, 0, NULL), TSLAB_CLOSED);
    CHECK(same(advanced, epoch));
    CHECK(same(tslab_epoch_current(), current));
}

/* Nor does the thread that closed it, or one that is outside, get anything from it. */
static void check_closed(tslab_epoch epoch)
{
    const struct tslab_epoch_stats before = stats_of(epoch);
    CHECK(before.state != TSLAB_EPOCH_OPEN);
    check_entry_closed(epoch);
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
}

/* However deep the scopes of the closed epoch lie, and whichever of them is the innermost: `which` has a bit for each.
 */
static void take_nothing(unsigned which, unsigned depth, tslab_epoch closed, bool advances)
{
    const tslab_epoch other = opened();
    tslab_epoch next = closed;
    for (unsigned i = 0; i < depth; i++) {
        enter((which >> i & 1) != 0 ? closed : other);
        tslab_free(fill(tslab_malloc(100), 100, 2)); /* so that there is room at hand */
        tslab_free(filled(closed, 100, 2));
    }
    void *p = filled(closed, 100, 1);
    if (advances && (which >> (depth - 1) & 1) != 0) {
        /* It takes the innermost scope along. */
        if ((which & ((1u << (depth - 1)) - 1)) == 0) {
            tslab_free(p);
            STATUS(tslab_epoch_advance(&next, 0, NULL), TSLAB_OK);
            p = filled(next, 100, 1);
        } else {
            STATUS(tslab_epoch_advance(&next, 0, NULL), TSLAB_PENDING);
            check_closed(closed);
        }
        CHECK(same(tslab_epoch_current(), next));
        leave(next);
        depth--;
    } else {
        STATUS(advances ? tslab_epoch_advance(&next, 0, NULL) : tslab_epoch_close(closed, 0, NULL), TSLAB_PENDING);
    }
    for (unsigned i = depth; i-- > 0 && (which & ((2u << i) - 1)) != 0;) {
        const bool inside = (which >> i & 1) != 0;
        check_closed(closed);
        void *const q = fill(tslab_malloc(100), 100, 3);
        CHECK_SAY(same(tslab_epoch_of(q), inside ? no_epoch : other), "scopes %#x, depth %u", which, i);
        tslab_free(q);
        p = tslab_realloc(p, 10000);
        CHECK(p != NULL && !same(tslab_epoch_of(p), closed)); /* which it has left at the first of these */
        leave(inside ? closed : other);
    }
    while (tslab_epoch_current().id != 0) {
        leave(other);
    }
    check_gone(closed);
    tslab_free(p);
    STATUS(tslab_epoch_close(other, 0, NULL), TSLAB_OK);
    check_gone(other);
    if (advances) {
        STATUS(tslab_epoch_close(next, 0, NULL), TSLAB_OK);
    }
}

CASE(a_closed_epoch_takes_nothing_at_any_depth)
{
    enum { SCOPES = 6 };
    for (unsigned which = 1; which < 1u << SCOPES; which++) {
        for (size_t i = 0; i < 4 * COUNT_OF(policies); i++) {
            const bool advances = i % 2 == 1, old = i % 4 >= 2 && which % 8 == 1;
            const struct tslab_epoch_options options = { .policy = policies[i / 4], .flags = TSLAB_OPEN_VOUCHED };
            const tslab_epoch closed = opened_with(&options);
            if (old) {
                grow_old(closed);
            }
            take_nothing(which, SCOPES, closed, advances);
        }
    }
}
