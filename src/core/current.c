#include "core/current.h"

#include "core/engine.h"
#include "core/fork.h"
#include "core/option.h"
#include "core/scope.h"
#include "core/work.h"
#include "os/fatal.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

/* The thread's destructor. Others may run after it and allocate or free: a borrowed record serves them. To wait for a
 * later round would leak the heap of a thread that joins only in one of its destructors, for then there may be no later
 * round. The value only says that there is something to end: where dlmopen has brought a second libc, whose keys have
 * the same numbers, it may come from another copy of this library. */
static void thread_ends(void *value)
{
    (void)value;
    struct thread *thread = front_current->thread;
    if (thread == NULL) {
        return;
    }
    scope_leave_all(thread);
    work_close(thread, thread);
    front_current = &front_gone;
    thread_close(thread);
}

/* The program ends by this thread, which may be in the middle of a slow operation. A handler of SIGABRT may still
 * allocate and fork: what it does goes past the thread's record, whose gate nobody has to wait for. (A thread that
 * holds more than a gate has found an invariant broken, in a checked build: a handler that allocates finds the next
 * then.) */
static void thread_dies(void)
{
    struct thread *thread = front_current->thread;
    store_plain(&engine.dying, 1);
    (void)lock_ranks_swap(lock_ranks_swap(0) & ~(1u << RANK_GATE));
    if (thread != NULL) {
        front_current = &front_gone;
        if (thread->gate.is_inside) {
            gate_unlock(&thread->gate);
        }
    }
}

/* The key whose destructor is thread_ends. */
static struct {
    atomic_u32 is_made;
    pthread_key_t key;
} ends;

static noinline bool key_is_made(void)
{
    lock_acquire(&engine.lock);
    fatal_prepare = thread_dies;
    bool is_made = load_plain(&ends.is_made) != 0;
    if (!is_made && pthread_key_create(&ends.key, thread_ends) == 0) {
        is_made = true;
        store_release(&ends.is_made, 1);
    }
    lock_release(&engine.lock);
    return is_made;
}

static bool is_started(void)
{
    return engine_start() && (load_acquire(&ends.is_made) != 0 || key_is_made());
}

noinline struct thread *current_get_slow(void)
{
    if (front_current->thread != NULL) {
        return front_current->thread;
    }
    /* First of all: a fork that comes before the handlers are set cuts this thread off from nothing. */
    fork_watch();
    if (!is_started()) {
        return NULL;
    }
    struct thread *thread = thread_open();
    if (thread != NULL && front_current == &front_none) {
        front_current = &thread->heap.front;
        /* May allocate, which works by now. Without it the thread's end would not be seen. */
        if (pthread_setspecific(ends.key, thread) != 0) {
            front_current = &front_none;
            thread_close(thread);
            return NULL;
        }
    }
    return thread;
}

noinline struct thread *current_get_surely(void)
{
    struct thread *thread = current_get();
    return thread == NULL && load_acquire(&engine.running) != 0 ? thread_open_last() : thread;
}

noinline void current_put_slow(struct thread *thread)
{
    thread_close(thread);
}

/* Early: before there are threads, and in the drop-in, which is linked to be initialised first
 * (docs/protocols/thread.md), before any other library registers its fork handlers: so ours run last before a fork and
 * first after it. libc, too, is initialised later then, and has no environment yet; but glibc gives one to every
 * constructor. */
__attribute__((constructor(101))) static void engine_constructor(int count, char **arguments, char **environment)
{
    const int saved = errno;
    (void)count;
    (void)arguments;
#ifndef __GLIBC__
    environment = environ;
#endif
    lock_acquire(&engine.lock);
    engine_load_options(environment);
    lock_release(&engine.lock);

    if (environment != NULL) {
        option_complain(environment);
    }
    (void)is_started(); /* if there is no memory now, the next allocation tries again */
    fork_watch();
    errno = saved;
}
