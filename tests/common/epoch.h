/* Shared by the tests of epochs. A case is a function that runs in a process of its own, where the engine has not
 * started yet (unless it is the malloc of the program): it must end well, and say nothing on stderr. */
#ifndef EPOCH_H
#define EPOCH_H

#include "child.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <tslab/tslab.h>

/* Memory that checks and sanitizers keep counts, too. */
enum { HEAVY = EPOCH_SLOW || TSLAB_CHECKED };

enum { UNIT = 16 * 1024, KILOBYTE = 1024, MEGABYTE = 1024 * 1024 };

/* So many times in a release build, and fewer times where every step is slow. */
static inline size_t times(size_t count)
{
    return EPOCH_SLOW ? count / 20 : TSLAB_CHECKED ? count / 5 : count;
}

/* CASE(name) { ... }: it is run in a child, or, with an environment, in a program that has it from the start. */
struct epoch_case {
    const char *name;
    void (*body)(void);
    const char *environment; /* NAME=value */
};
#define ALSO_WITH(environment, name)                                                                                   \
    static void name(void);                                                                                            \
    static const struct epoch_case AT_LINE_(name, __LINE__) = { #name, name, environment };                            \
    LISTED(name, case_runs, &AT_LINE_(name, __LINE__))                                                                 \
    static void name(void)
#define CASE_WITH(environment, name) ALSO_WITH(environment, name)
#define CASE(name)                   ALSO_WITH(NULL, name)

/* Whether the malloc of this program is that of the library whose functions it calls. */
static inline bool malloc_is_ours(void)
{
    Dl_info ours, plain;
    void *const of_library = dlsym(RTLD_DEFAULT, "tslab_malloc");
    void *const of_program = dlsym(RTLD_DEFAULT, "malloc");
    /* That of a sanitizer is in the program itself, as the static library is. */
    return !EPOCH_SANITIZED && of_library != NULL && dladdr(of_library, &ours) != 0 &&
           dladdr(of_program, &plain) != 0 && ours.dli_fbase == plain.dli_fbase;
}

static inline void *exit_at_once(void *unused)
{
    (void)unused;
    pthread_exit(NULL);
}

static inline void case_body(const void *argument)
{
    const struct epoch_case *one = (const struct epoch_case *)argument;
    alarm(HANG_SECONDS);
    if (malloc_is_ours()) {
        /* The first thread that starts, and the first that exits, have libc allocate what it keeps; not in a scope. */
        in_a_thread(exit_at_once, NULL);
    }
    one->body();
}

/* Goes on in this program from its beginning, as the body of a case. */
static inline void exec_case(const char *name, const char *environment)
{
    CHECK(putenv(strdup(environment)) == 0);
    execl("/proc/self/exe", "epoch", "--body", name, (char *)NULL);
    check_failed(__FILE__, __LINE__, "the program cannot be started again: %s", strerror(errno));
}

static inline void case_exec(const void *argument)
{
    const struct epoch_case *one = (const struct epoch_case *)argument;
    exec_case(one->name, one->environment);
}

static inline void case_runs(void **state)
{
    const struct epoch_case *one = (const struct epoch_case *)*state;
    child_succeeds(one->environment == NULL ? case_body : case_exec, one, "");
}

__attribute__((constructor)) static void cases_have_bodies(void)
{
    tests_body = case_body;
}

/* Epochs. */

static inline void is_status(int found, int wanted, const char *call, const char *file, int line)
{
    if (found != wanted) {
        check_failed(file, line, "%s is %s (%d), not %s", call, tslab_status_name((enum tslab_status)found), found,
                     tslab_status_name((enum tslab_status)wanted));
    }
}
#define STATUS(call, wanted) is_status((call), (wanted), #call, __FILE__, __LINE__)

#include "gone.h"

static inline tslab_epoch opened_with(const struct tslab_epoch_options *options)
{
    const tslab_epoch epoch = tslab_epoch_open(options);
    CHECK_SAY(epoch.id != 0, "no epoch was opened: %s", strerror(errno));
    return epoch;
}

static inline tslab_epoch opened_as(const char *label, enum tslab_policy policy)
{
    return opened_with(&(struct tslab_epoch_options){ .label = label, .policy = policy });
}

static inline tslab_epoch opened(void)
{
    return opened_with(NULL);
}

static inline bool takes_plain(enum tslab_policy policy, unsigned flags)
{
    return policy == TSLAB_POLICY_DRAIN || policy == TSLAB_POLICY_REPORT || (flags & TSLAB_OPEN_VOUCHED) != 0;
}

/* The answer of entering an epoch. */
static inline int entered_status(enum tslab_policy policy, unsigned flags)
{
    return malloc_is_ours() && takes_plain(policy, flags) ? TSLAB_OK : TSLAB_EXPLICIT;
}

static inline void enter(tslab_epoch epoch)
{
    const int status = tslab_epoch_enter(epoch);
    CHECK_SAY(status == TSLAB_OK || status == TSLAB_EXPLICIT, "entering: %s", tslab_status_text(status));
    CHECK(same(tslab_epoch_current(), epoch));
}

static inline void leave(tslab_epoch epoch)
{
    STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
}

static inline struct tslab_epoch_stats stats_of(tslab_epoch epoch)
{
    struct tslab_epoch_stats stats;
    memset(&stats, 0xa5, sizeof stats);
    STATUS(tslab_epoch_stats_get(epoch, &stats), TSLAB_OK);
    CHECK(same(stats.epoch, epoch));
    return stats;
}

static inline void is_alive(tslab_epoch epoch, uint64_t objects, const char *file, int line)
{
    const struct tslab_epoch_stats stats = stats_of(epoch);
    if (stats.live_objects != objects || (objects == 0 && stats.live_bytes != 0)) {
        check_failed(file, line, "%llu objects of %llu bytes live in epoch %#llx, not %llu",
                     (unsigned long long)stats.live_objects, (unsigned long long)stats.live_bytes,
                     (unsigned long long)epoch.id, (unsigned long long)objects);
    }
}
#define ALIVE(epoch, objects) is_alive((epoch), (objects), __FILE__, __LINE__)

/* Memory that carries its own proof. */

static inline void *fill(void *p, size_t size, uint64_t seed)
{
    CHECK_SAY(p != NULL, "%zu bytes were refused: %s", size, strerror(errno));
    CHECK((uintptr_t)p % 16 == 0);
    CHECK(tslab_usable_size(p) >= size);
    pattern_fill(p, size, seed);
    return p;
}

static inline void *filled(tslab_epoch epoch, size_t size, uint64_t seed)
{
    void *const p = fill(tslab_epoch_malloc(epoch, size), size, seed);
    CHECK(same(tslab_epoch_of(p), epoch));
    return p;
}

static inline void verify(const void *p, size_t size, uint64_t seed)
{
    CHECK_SAY(pattern_holds(p, size, seed), "%zu bytes at %p were overwritten", size, p);
}

static inline void verify_and_free(void *p, size_t size, uint64_t seed)
{
    verify(p, size, seed);
    tslab_free(p);
}

static inline size_t below(uint64_t *random, size_t limit)
{
    return random_next(random) % limit;
}

/* Mostly those of a request; some of every kind. */
static inline size_t some_size(uint64_t *random)
{
    const size_t what = below(random, 1000);
    return what < 900   ? 16 + below(random, 433)
           : what < 970 ? 1 + below(random, 4000)
           : what < 998 ? 1 + below(random, 33000)
                        : 1 + below(random, 200000);
}

/* An epoch keeps the objects of its first while in another way than those of a long life: this is one. */
static inline void grow_old(tslab_epoch epoch)
{
    enum { LIVE = 1000 };
    void *live[LIVE] = { NULL };
    uint64_t random = 19;
    enter(epoch);
    for (size_t i = 0; i < times(200000) + 20000; i++) {
        const size_t at = below(&random, LIVE);
        tslab_free(live[at]);
        live[at] = tslab_epoch_malloc(epoch, some_size(&random) % 1000);
    }
    for (size_t i = 0; i < LIVE; i++) {
        tslab_free(live[i]);
    }
    leave(epoch);
}

/* Threads. */

/* A thread that does one thing after another, each when it is told to, and is waited for each time. */
struct helper {
    pthread_t thread;
    pthread_barrier_t barrier; /* met before each thing and after it */
    void (*thing)(void *);
    void *argument;
};

static inline void *helper_loop(void *argument)
{
    struct helper *const helper = (struct helper *)argument;
    for (;;) {
        pthread_barrier_wait(&helper->barrier);
        if (helper->thing == NULL) {
            return NULL;
        }
        helper->thing(helper->argument);
        pthread_barrier_wait(&helper->barrier);
    }
}

static inline void helper_start(struct helper *helper)
{
    CHECK(pthread_barrier_init(&helper->barrier, NULL, 2) == 0);
    CHECK(pthread_create(&helper->thread, NULL, helper_loop, helper) == 0);
}

static inline void helper_does(struct helper *helper, void (*thing)(void *), void *argument)
{
    helper->thing = thing;
    helper->argument = argument;
    pthread_barrier_wait(&helper->barrier);
    pthread_barrier_wait(&helper->barrier);
}

static inline void helper_ends(struct helper *helper)
{
    helper->thing = NULL;
    pthread_barrier_wait(&helper->barrier);
    (void)thread_end(helper->thread);
    CHECK(pthread_barrier_destroy(&helper->barrier) == 0);
}

/* The same for what such a thread often does. */

static inline void do_enter(void *epoch)
{
    enter(*(tslab_epoch *)epoch);
}

static inline void do_leave(void *epoch)
{
    leave(*(tslab_epoch *)epoch);
}

#endif
