/* A library that knows nothing of tslab, and whose constructor runs before tslab's where the loader so decides. It uses
 * fork handlers as users of other allocators do:
 *
 *   LIBRARY_MUTEX        handlers hold a mutex under which other threads allocate
 *   LIBRARY_JOIN         before a fork, a worker that has allocated is stopped and joined, and started again after it
 *   LIBRARY_START        in the child, a thread is started and waited for
 *   LIBRARY_CONSTRUCTOR  the constructor itself forks, while threads of its own allocate
 *   LIBRARY_RAISE        a signal comes before the fork */
#include "workers.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

void library_work(void);
int library_forks(void);

static void *(*allocate)(size_t);
static void (*release)(void *);

/* Of the drop-in, or of libtslab, before or after their constructors. */
static void find_functions(void)
{
    *(void **)&allocate = dlsym(RTLD_DEFAULT, "tslab_malloc");
    *(void **)&release = dlsym(RTLD_DEFAULT, "tslab_free");
    CHECK(allocate != NULL && release != NULL);
}

/* Hardly anything of this is in a thread's own memory. */
static void use_memory(void)
{
    for (size_t size = 16; size < 200000; size *= 3) {
        void *blocks[8];
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            blocks[i] = allocate(size);
            CHECK(blocks[i] != NULL);
            memset(blocks[i], 1, 16);
        }
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            release(blocks[i]);
        }
    }
}

__attribute__((unused)) static void *use_memory_once(void *unused)
{
    use_memory();
    return unused;
}

__attribute__((unused)) static void set_handlers(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    CHECK(pthread_atfork(before, parent, child) == 0);
}

#ifdef LIBRARY_MUTEX

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void)
{
    CHECK(pthread_mutex_lock(&mutex) == 0);
}

static void unlock(void)
{
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}

void library_work(void)
{
    lock();
    use_memory();
    unlock();
}

__attribute__((constructor)) static void construct(void)
{
    find_functions();
    set_handlers(lock, unlock, unlock);
}

#elif defined LIBRARY_JOIN

static atomic_bool stop;
static pthread_t worker;

static void *work(void *unused)
{
    do {
        use_memory();
    } while (!stop);
    return unused;
}

static void stop_worker(void)
{
    stop = true;
    CHECK(pthread_join(worker, NULL) == 0);
}

static void start_worker(void)
{
    stop = false;
    worker = thread_begin(work, NULL);
}

void library_work(void)
{
    use_memory();
}

__attribute__((constructor)) static void construct(void)
{
    find_functions();
    set_handlers(stop_worker, start_worker, start_worker);
    start_worker();
}

#elif defined LIBRARY_START

static void start_and_wait(void)
{
    (void)in_a_thread(use_memory_once, NULL);
}

void library_work(void)
{
    use_memory();
}

__attribute__((constructor)) static void construct(void)
{
    find_functions();
    set_handlers(NULL, NULL, start_and_wait);
}

#elif defined LIBRARY_CONSTRUCTOR

void library_work(void)
{
    use_memory();
}

static atomic_bool stop;
static atomic_int at_work;

static void *work(void *unused)
{
    use_memory();
    at_work++;
    while (!stop) {
        use_memory();
    }
    return unused;
}

/* The drop-in's constructor has run by now, before there were threads. libtslab's comes later: there the handlers are
 * set by the first thread that allocates, and a fork in the middle of that runs without them
 * (docs/protocols/thread.md). */
static bool is_dropin(void)
{
    Dl_info mine;
    Dl_info theirs;
    CHECK(dladdr(*(void **)&allocate, &mine) != 0 && dladdr(dlsym(RTLD_DEFAULT, "malloc"), &theirs) != 0);
    return mine.dli_fbase == theirs.dli_fbase;
}

__attribute__((constructor)) static void construct(void)
{
    enum { FORKS = 40 };
    find_functions();
    alarm(HANG_SECONDS);
    pthread_t workers[2];
    threads_begin(workers, COUNT_OF(workers), work, NULL, 0);
    while (!is_dropin() && at_work < (int)COUNT_OF(workers)) {
        sched_yield();
    }
    for (int i = 0; i < FORKS; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(CHILD_HANG_SECONDS);
            use_memory();
            (void)in_a_thread(use_memory_once, NULL);
            _exit(0);
        }
        child_ends_well(pid);
    }
    stop = true;
    threads_end(workers, COUNT_OF(workers));
    alarm(0);
}

#elif defined LIBRARY_RAISE

void library_work(void)
{
    use_memory();
    (void)in_a_thread(use_memory_once, NULL);
}

volatile sig_atomic_t library_raises; /* before the next fork */

static void raise_signal(void)
{
    if (library_raises != 0) {
        library_raises = 0;
        CHECK(raise(SIGUSR1) == 0);
    }
}

__attribute__((constructor)) static void construct(void)
{
    find_functions();
    set_handlers(raise_signal, NULL, NULL);
}

#endif
