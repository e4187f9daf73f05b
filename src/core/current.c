#include "core/current.h"

#include "core/option.h"
#include "core/work.h"
#include "os/fatal.h"
#include "os/os.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

_Thread_local struct heap *heap_current = &heap_none;

/* Of the thread that forks. */
struct fork_state {
    struct os_signals signals;
    bool has_streams;
    uint32_t ranks;
    struct thread *borrowed; /* when the thread has no record */
    struct heap *heap;       /* what it has instead */
};

static struct {
    struct lock lock;
    atomic_u32 running;
    atomic_u32 dying; /* a thread is ending the program */
    bool options_loaded, has_key;
    atomic_u32 unwatched;             /* 1: fork handlers are still to be set */
    _Atomic(struct heap **) forks_at; /* where the thread that forks, and has the lock, has its heap_current; or NULL */
    struct fork_state fork;
    pthread_key_t key;
} engine = { .lock = LOCK_INIT(RANK_START), .unwatched = 1 };

/* Nothing of a record may stay warm or cached when it becomes idle. */
static void record_close(struct thread *thread)
{
    gate_lock(thread);
    scope_flush(thread);
    gate_unlock(thread);
    thread_close(thread);
}

/* The thread's destructor. Others may run after it and allocate or free: a borrowed record serves them. To wait for a
 * later round would leak the heap of a thread that joins only in one of its destructors, for then there may be no later
 * round. The value only says that there is something to end: where dlmopen has brought a second libc, whose keys have
 * the same numbers, it may come from another copy of this library. */
static void thread_ends(void *value)
{
    (void)value;
    struct thread *thread = heap_current->thread;
    if (thread == NULL) {
        return;
    }
    scope_leave_all(thread);
    work_close(thread, thread);
    heap_current = &heap_gone;
    record_close(thread);
}

/* The program ends by this thread, which may be in the middle of a slow operation. A handler of SIGABRT may still
 * allocate and fork: what it does goes past the thread's record, whose gate nobody has to wait for. (A thread that
 * holds more than a gate has found an invariant broken, in a checked build: a handler that allocates finds the next
 * then.) */
static void thread_dies(void)
{
    struct thread *thread = heap_current->thread;
    store_plain(&engine.dying, 1);
    (void)lock_ranks_swap(lock_ranks_swap(0) & ~(1u << RANK_GATE));
    if (thread != NULL) {
        heap_current = &heap_gone;
        if (thread->in_gate) {
            gate_unlock(thread);
        }
    }
}

/* In silence: it may be under the lock. Before libc's constructors there is no environment; ours is given one. */
static void load_options(char *const *environment)
{
    if (!engine.options_loaded && environment != NULL) {
        option_load(environment);
        engine.options_loaded = true;
    }
}

static noinline bool engine_start(void)
{
    lock_acquire(&engine.lock);
    bool running = load_plain(&engine.running) != 0;
    if (!running) {
        load_options(environ);
        fatal_prepare = thread_dies;
        /* What was had before a failure is had when the next allocation tries again. */
        engine.has_key = engine.has_key || pthread_key_create(&engine.key, thread_ends) == 0;
        running = engine.has_key && (arena.span_units != 0 || arena_start(option_get(OPTION_ARENA_BYTES))) &&
                  thread_reserve_last();
        if (running) {
            epoch_start();
            partial_lists_begin();
            store_release(&engine.running, 1);
        }
    }
    lock_release(&engine.lock);
    return running;
}

static bool engine_running(void)
{
    return load_acquire(&engine.running) != 0 || engine_start();
}

static void watch_forks(void);

noinline struct thread *current_get_slow(void)
{
    if (heap_current->thread != NULL) {
        return heap_current->thread;
    }
    if (!engine_running()) {
        return NULL;
    }
    struct thread *thread = thread_open();
    if (thread != NULL && heap_current == &heap_none) {
        heap_current = &thread->heap;
        /* May allocate, which works by now. Without it the thread's end would not be seen. */
        if (pthread_setspecific(engine.key, thread) != 0) {
            heap_current = &heap_none;
            record_close(thread);
            return NULL;
        }
        if (unlikely(load_relaxed(&engine.unwatched) != 0)) {
            watch_forks();
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
    record_close(thread);
}

/* With one thread there is nobody to bring to rest, and nobody whom the child will miss; so a signal handler that has
 * interrupted anything at all may fork then.
 *
 * Else no signal handler comes between our handlers, for it might fork as well, and wait for its own thread. Where
 * libc's streams allocate here, they come before our gates, since libc's fork takes them afterwards. A thread that has
 * no record gets one until the fork is done: fork handlers of others that run after ours may allocate, and no record
 * can be had while the registry is locked. */
static void before_fork(void)
{
    struct fork_state state = { .has_streams = scope_malloc_is_ours };
    if (!os_has_threads()) {
        return;
    }
    os_signals_hold(&state.signals);
    state.ranks = lock_ranks_swap(0);
    if (state.has_streams) {
        os_streams_take();
    }
    (void)engine_running();
    lock_acquire(&engine.lock);
    struct thread *thread = load_plain(&engine.running) == 0 ? NULL : current_get_surely();
    state.heap = heap_current;
    if (heap_current->thread == NULL && thread != NULL) {
        state.borrowed = thread;
        heap_current = &thread->heap;
    }
    engine.fork = state;
    store_plain(&engine.forks_at, &heap_current);
    thread_fork_prepare(heap_current->thread);
}

/* Whether before_fork has taken anything in this thread's name. */
static bool is_in_fork(void)
{
    return load_plain(&engine.forks_at) == &heap_current;
}

/* The gates are open. In the child, `closed` are epochs to see to. */
static void fork_done(bool in_child, struct epoch *closed)
{
    const struct fork_state state = engine.fork;
    store_plain(&engine.forks_at, NULL);
    lock_release(&engine.lock);
    if (state.has_streams) {
        os_streams_drop(in_child);
    }
    if (closed != NULL) {
        scope_fork_close(heap_current->thread, closed);
    }
    if (state.borrowed != NULL) {
        heap_current = state.heap;
        record_close(state.borrowed);
    }
    (void)lock_ranks_swap(state.ranks);
    os_signals_restore(&state.signals);
}

static void after_fork_parent(void)
{
    if (is_in_fork()) {
        thread_fork_done(heap_current->thread);
        fork_done(false, NULL);
    }
}

static void after_fork_child(void)
{
    if (!is_in_fork()) {
        return;
    }
    struct thread *self = heap_current->thread;
    struct epoch *closed = NULL;
    /* Where the forking thread itself is in the middle of something, in a signal handler or because the program ends,
     * all stays as it is: the child lacks what the others had, and can allocate. */
    const bool takes_leave = self != NULL && !self->in_gate && load_plain(&engine.dying) == 0;
    if (takes_leave) {
        closed = scope_fork_child(self);
        for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
            if (thread != self) {
                work_close(self, thread);
            }
        }
    }
    thread_fork_done(self);
    if (takes_leave) {
        thread_fork_child(self);
    }
    fork_done(true, closed);
}

/* What may fail. Until it works, the next thread that joins tries again: it takes two to make a fork dangerous. */
static noinline void watch_forks(void)
{
    /* It may allocate, and must not come here again from there. */
    if (exchange_acquire(&engine.unwatched, 0) != 0 &&
        pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0) {
        store_relaxed(&engine.unwatched, 1);
    }
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
    load_options(environment);
    lock_release(&engine.lock);
    if (environment != NULL) {
        option_complain(environment);
    }
    (void)engine_running(); /* if there is no memory now, the next allocation tries again */
    watch_forks();
    errno = saved;
}
