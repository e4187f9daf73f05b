/* A thread joins when it first needs a record and leaves in the destructor of a thread-specific key. The library's
 * constructor starts the engine before there are threads. */
#include "malloc/current_thread.h"

#include "common/option.h"
#include "epoch/scope.h"
#include "epoch/work_unit.h"
#include "malloc/engine.h"
#include "malloc/fork.h"
#include "malloc/program_threads.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "os/os.h"
#include "space/limit.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

/* The thread's destructor. Other destructors may run after it and allocate or free: a borrowed record serves them. To
 * wait for a later round would leak the heap of a thread that joins only in one of its destructors, because there may
 * be no later round. The value only says that there is something to end. After dlmopen it may come from another copy of
 * this library, since the keys of a second libc have the same numbers. */
static void thread_ends(void *value)
{
    (void)value;
    if (program_threads_counts_me) {
        program_threads_counts_me = false;
        program_threads_shrink(); /* may have libc free */
    }
    struct thread *thread = front_current->thread;
    if (thread == NULL) {
        return;
    }
    scope_leave_all(thread);
    work_unit_close(thread, thread);
    invariant(front_current == &thread->heap.front);
    front_current = &front_gone;
    thread_leave(thread);
    program_threads_clear();
}

/* This thread ends the program, perhaps in the middle of a slow operation. A handler of SIGABRT may still allocate and
 * fork. It bypasses the thread's record, and the gate is released so that no thread waits for it. (A thread that holds
 * more locks than a gate has found a broken invariant, in a checked build. A handler that allocates then finds the
 * next one.) */
static void thread_dies(void)
{
    struct thread *thread = front_current->thread;
    store_plain(&engine.dying, 1);
    store_plain(&company.is_over, 1);
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

noinline struct thread *current_thread_get_slow(void)
{
    if (front_current->thread != NULL) {
        return front_current->thread;
    }
    /* This comes first: a fork that comes before the handlers are set must find this thread without any lock. Libc may
     * have made the thread for itself. */
    fork_watch();
    if (counter_get(&heap_live_count) != 0) {
        os_thread_comes();
    }
    if (!is_started()) {
        return NULL;
    }
    const bool begins = front_current == &front_none;
    struct thread *thread = thread_open(begins);
    if (thread != NULL && begins) {
        front_current = &thread->heap.front;
        /* This may allocate, which works by now. If it fails, the thread's end would not be noticed. */
        if (pthread_setspecific(ends.key, thread) != 0) {
            front_current = &front_none;
            thread_close(thread);
            return NULL;
        }
        thread_number(thread);
    }
    invariant(thread == NULL || thread->heap.front.thread == thread);
    return thread;
}

bool current_thread_notice_end(void)
{
    invariant(!program_threads_counts_me);
    program_threads_counts_me = is_started() && pthread_setspecific(ends.key, &ends) == 0;
    return program_threads_counts_me;
}

bool current_count(void)
{
    if (!program_threads_counts_me && current_thread_notice_end()) {
        program_threads_grow();
    }
    return program_threads_counts_me;
}

noinline struct thread *current_thread_get_surely(void)
{
    struct thread *thread = current_thread_get();
    return thread == NULL && load_acquire(&engine.running) != 0 ? thread_open_last() : thread;
}

void current_thread_set_limits(const struct tslab_limits *set)
{
    struct thread *const thread = current_thread_get_surely();
    if (thread == NULL) { /* nor will the engine start */
        limit_set(set);
        return;
    }
    gate_lock(&thread->gate);
    limit_set(set);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

noinline void current_thread_put_slow(struct thread *thread)
{
    invariant(thread != NULL && front_current->thread == NULL);
    thread_close(thread);
}

/* Priority 101: before there are threads. The drop-in is linked to be initialised first (docs/protocols/thread.md), so
 * there it is also before any other library registers its fork handlers: ours run last before a fork and first after
 * it. libc is initialised later, too, and has neither arguments nor environment yet, but glibc passes both to every
 * constructor. */
__attribute__((constructor(101))) static void engine_constructor(int count, char **arguments, char **environment)
{
    const int saved = errno;
#ifdef __GLIBC__
    os_keep_program_name(count > 0 ? arguments[0] : NULL);
#else
    (void)count;
    (void)arguments;
    os_keep_program_name(NULL);
    environment = environ;
#endif
    lock_acquire(&engine.lock);
    engine_load_options(environment);
    lock_release(&engine.lock);

    if (environment != NULL) {
        option_complain(environment);
    }
    /* A sanitizer's own start comes later still: there, the first allocation starts the engine. The library that is
     * built with one comes after it. If there is no memory now, the next allocation tries again. */
    if (TSLAB_TSAN || !os_is_sanitized()) {
        (void)is_started();
    }
    fork_watch();
    errno = saved;
}

/* The last of the constructors: reports are prepared, and libc's own functions are found. */
__attribute__((constructor(104))) static void program_threads_constructor(void)
{
    if (program_threads_keeper_wanted() != KEEPER_ALWAYS) {
        return;
    }
    helper_thread_note();
    if (!company.begins_late && current_count()) {
        program_threads_settle();
    }
}
