/* The names of libc that make a thread, linked only into the drop-in library: so the program's threads are counted, and
 * the keeper comes and goes with them (malloc/program_threads.h). A thread of the program runs in run_counted, which
 * has its end noticed. All else is libc's.
 *
 * Threads are not counted in a process whose malloc is another one, or where libc's own functions are not found. An
 * archive has none of this: a program without a dynamic loader has nothing to look libc's own functions up with. */
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

/* The routine of a new thread. The thread copies it and gives the place back first. Allocated places are only for more
 * threads on their way: their free makes a record for the thread, which it may never need otherwise. */
struct start_routine {
    void *(*routine)(void *);
    thrd_routine *thrd_routine;
    void *argument;
};

enum { START_ROUTINES = 64 };
static struct {
    struct start_routine all[START_ROUTINES];
    atomic_u64 taken; /* a bit for each */
} start_routines;

static struct start_routine *start_routine_take(void)
{
    uint64_t taken = load_relaxed(&start_routines.taken);
    while (~taken != 0) {
        const unsigned i = bit_lowest(~taken);
        if (cas_acquire(&start_routines.taken, &taken, taken | (uint64_t)1 << i)) {
            return &start_routines.all[i];
        }
    }
    return fast_alloc(sizeof(struct start_routine));
}

static void start_routine_give(struct start_routine *start)
{
    const size_t i = (size_t)(start - start_routines.all);
    if (i >= START_ROUTINES) {
        fast_free(start);
        return;
    }
    uint64_t taken = load_relaxed(&start_routines.taken);
    invariant((taken >> i & 1) != 0);
    while (!cas_release(&start_routines.taken, &taken, taken & ~((uint64_t)1 << i))) {
    }
}

/* The thread was counted before it was made. */
static struct start_routine begin_counted(void *argument)
{
    const struct start_routine start = *(const struct start_routine *)argument;
    start_routine_give(argument);
    invariant(!program_threads_counts_me && (start.routine == NULL) != (start.thrd_routine == NULL));
    if (!current_thread_notice_end()) {
        program_threads_shrink();
    }
    return start;
}

static void *run_counted(void *argument)
{
    const struct start_routine start = begin_counted(argument);
    return start.routine(start.argument);
}

static int run_counted_thrd(void *argument)
{
    const struct start_routine start = begin_counted(argument);
    return start.thrd_routine(start.argument);
}

/* A call of libc's function of one kind or the other. */
struct creation {
    pthread_t *thread;
    const pthread_attr_t *attributes;
    struct start_routine start;
};

/* NULL: the thread is not counted. */
static int create_thread(const struct creation *creation, struct start_routine *counted)
{
    const struct start_routine *const start = &creation->start;
    if (start->thrd_routine == NULL) {
        return counted != NULL
                   ? program_threads.create(creation->thread, creation->attributes, run_counted, counted)
                   : program_threads.create(creation->thread, creation->attributes, start->routine, start->argument);
    }
    return counted != NULL ? libc_thrd_create(creation->thread, run_counted_thrd, counted)
                           : libc_thrd_create(creation->thread, start->thrd_routine, start->argument);
}

/* `refused` is what libc returns where the system has no thread to spare. */
static int create_counted(const struct creation *creation, int refused)
{
    const int saved = errno;
    os_thread_comes();
    struct start_routine *const start = heap_serves_malloc ? start_routine_take() : NULL;
    if (start == NULL) {
        return create_thread(creation, NULL);
    }
    invariant(creation->start.routine != NULL || creation->start.thrd_routine != NULL);
    *start = creation->start;
    (void)current_count();
    program_threads_grow();
    int error = create_thread(creation, start);
    if (error == refused && program_threads_make_room()) {
        error = create_thread(creation, start);
    }
    if (error == 0) {
        program_threads_settle();
    } else {
        start_routine_give(start);
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
        program_threads.begins_late = !may_begin_early();
        libc_thrd_create = (int (*)(pthread_t *, thrd_routine *, void *))dlsym(RTLD_NEXT, "thrd_create");
        program_threads.join = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");
        program_threads.create = (program_threads_create *)dlsym(RTLD_NEXT, "pthread_create");
        store_release(&are_found, 1);
    }
}

__attribute__((constructor(103))) static void begin_to_count(void)
{
    find_functions();
    os_watch_threads();
    if (!heap_serves_malloc) {
        store_plain(&program_threads.is_over, 1);
    } else if (program_threads_keeper_wanted() == KEEPER_BESIDE_THREADS) {
        helper_thread_note();
    }
}

TSLAB_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                             void *argument)
{
    find_functions();
    if (program_threads.create == NULL) {
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
