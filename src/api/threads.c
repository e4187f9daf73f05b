/* The names of libc that make a thread, linked only into the drop-in library: so the program's threads are counted, and
 * the keeper comes and goes with them (malloc/program_threads.h). A thread of the program runs in run_counted, which
 * has its end noticed; all else is libc's.
 *
 * In a process whose malloc is another one, and where libc's own functions are not found, nobody counts. An archive has
 * none of this: a program without a dynamic loader has nothing to look libc's own functions up with. */
#include "base/build.h"

#if !TSLAB_LINKED_IN

#include "base/bits.h"
#include "common/option.h"
#include "malloc/current_thread.h"
#include "malloc/fast.h"
#include "malloc/program_threads.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "os/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <tslab/tslab.h>

/* Of <threads.h>, which glibc has since 2.28. */
typedef int thrd_routine(void *argument);
enum { THRD_ERROR = 2 };
int thrd_create(pthread_t *thread, thrd_routine *routine, void *argument);

static int (*libc_thrd_create)(pthread_t *thread, thrd_routine *routine, void *argument);

/* What a new thread is to run. It takes a copy and gives the place back before it runs anything else. Places in memory
 * that is allocated are for when there are more threads on their way: a free makes a record for the new thread, which
 * it may never need otherwise. */
struct errand {
    void *(*routine)(void *);
    thrd_routine *thrd_routine;
    void *argument;
};

enum { ERRANDS = 64 };
static struct {
    struct errand all[ERRANDS];
    atomic_u64 taken; /* a bit for each */
} errands;

static struct errand *errand_take(void)
{
    uint64_t taken = load_relaxed(&errands.taken);
    while (~taken != 0) {
        const unsigned i = bit_lowest(~taken);
        if (cas_acquire(&errands.taken, &taken, taken | (uint64_t)1 << i)) {
            return &errands.all[i];
        }
    }
    return fast_alloc(sizeof(struct errand));
}

static void errand_give(struct errand *errand)
{
    const size_t i = (size_t)(errand - errands.all);
    if (i >= ERRANDS) {
        fast_free(errand);
        return;
    }
    uint64_t taken = load_relaxed(&errands.taken);
    invariant((taken >> i & 1) != 0);
    while (!cas_release(&errands.taken, &taken, taken & ~((uint64_t)1 << i))) {
    }
}

/* The thread was counted before it was made. */
static struct errand begin_counted(void *argument)
{
    const struct errand errand = *(const struct errand *)argument;
    errand_give(argument);
    invariant(!program_threads_counts_me && (errand.routine == NULL) != (errand.thrd_routine == NULL));
    if (!current_thread_notice_end()) {
        program_threads_shrink();
    }
    return errand;
}

static void *run_counted(void *argument)
{
    const struct errand errand = begin_counted(argument);
    return errand.routine(errand.argument);
}

static int run_counted_thrd(void *argument)
{
    const struct errand errand = begin_counted(argument);
    return errand.thrd_routine(errand.argument);
}

/* A call of libc's function of one kind or the other. */
struct creation {
    pthread_t *thread;
    const pthread_attr_t *attributes;
    struct errand errand;
};

/* NULL: nobody counts the thread. */
static int create_thread(const struct creation *creation, struct errand *counted)
{
    const struct errand *const errand = &creation->errand;
    if (errand->thrd_routine == NULL) {
        return counted != NULL
                   ? company.create(creation->thread, creation->attributes, run_counted, counted)
                   : company.create(creation->thread, creation->attributes, errand->routine, errand->argument);
    }
    return counted != NULL ? libc_thrd_create(creation->thread, run_counted_thrd, counted)
                           : libc_thrd_create(creation->thread, errand->thrd_routine, errand->argument);
}

/* `refused` is what libc returns where the system has no thread to spare. */
static int create_counted(const struct creation *creation, int refused)
{
    const int saved = errno;
    os_thread_comes();
    struct errand *const errand = heap_serves_malloc ? errand_take() : NULL;
    if (errand == NULL) {
        return create_thread(creation, NULL);
    }
    invariant(creation->errand.routine != NULL || creation->errand.thrd_routine != NULL);
    *errand = creation->errand;
    (void)current_count();
    program_threads_grow();
    int error = create_thread(creation, errand);
    if (error == refused && program_threads_make_room()) {
        error = create_thread(creation, errand);
    }
    if (error == 0) {
        program_threads_settle();
    } else {
        errand_give(errand);
        program_threads_shrink();
    }
    errno = saved;
    return error;
}

/* Before glibc 2.34 a library that is initialised first must not make a thread there: libc's part for threads is
 * initialised later. */
static bool may_begin_early(void)
{
#ifdef __GLIBC__
    return dlvsym(RTLD_NEXT, "pthread_create", "GLIBC_2.34") != NULL;
#else
    return true;
#endif
}

/* Where a program's constructor makes a thread before ours has run, its thread comes here first. */
static void find_functions(void)
{
    static atomic_u32 are_found;
    if (load_acquire(&are_found) == 0) {
        company.begins_late = !may_begin_early();
        libc_thrd_create = (int (*)(pthread_t *, thrd_routine *, void *))dlsym(RTLD_NEXT, "thrd_create");
        company.join = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");
        company.create = (program_threads_create *)dlsym(RTLD_NEXT, "pthread_create");
        store_release(&are_found, 1);
    }
}

__attribute__((constructor(103))) static void begin_to_count(void)
{
    find_functions();
    os_watch_threads();
    if (!heap_serves_malloc) {
        store_plain(&company.is_over, 1);
    } else if (program_threads_keeper_wanted() == KEEPER_BESIDE_THREADS) {
        helper_thread_note();
    }
}

TSLAB_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                             void *argument)
{
    find_functions();
    if (company.create == NULL) {
        return EAGAIN;
    }
    return create_counted(&(struct creation){ thread, attributes, { .routine = routine, .argument = argument } },
                          EAGAIN);
}

TSLAB_API int thrd_create(pthread_t *thread, thrd_routine *routine, void *argument)
{
    find_functions();
    if (libc_thrd_create == NULL) {
        return THRD_ERROR;
    }
    return create_counted(&(struct creation){ thread, NULL, { .thrd_routine = routine, .argument = argument } },
                          THRD_ERROR);
}

#endif
