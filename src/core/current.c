#include "core/current.h"

#include "base/fatal.h"
#include "core/option.h"
#include "core/work.h"

#include <errno.h>
#include <pthread.h>

_Thread_local struct heap *heap_current = &heap_none;

static struct {
    struct lock lock;
    atomic_u32 running;
    bool options_loaded, has_key;
    atomic_u32 unwatched;         /* fork handlers are still to be set */
    struct thread *fork_borrowed; /* by a thread that has no record and forks; under the lock, */
    struct heap *fork_heap;       /* as this: what it has instead */
    pthread_key_t key;
} engine = { .lock = LOCK_INIT(RANK_START) };

/* Nothing of a record may stay warm or cached when it becomes idle. */
static void record_shut(struct thread *thread)
{
    gate_enter(thread);
    scope_flush(thread);
    gate_leave(thread);
    thread_shut(thread);
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
    record_shut(thread);
}

static noinline bool engine_start(void)
{
    lock_acquire(&engine.lock);
    bool running = stat_get(&engine.running) != 0;
    if (!running) {
        engine.options_loaded = engine.options_loaded || option_load();
        /* What was had before a failure is had when the next allocation tries again. */
        engine.has_key = engine.has_key || pthread_key_create(&engine.key, thread_ends) == 0;
        running = engine.has_key && (arena.span_units != 0 || arena_start(option_get(OPTION_ARENA_BYTES))) &&
                  thread_reserve_last();
        if (running) {
            epoch_start();
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

noinline struct thread *current_enter_slow(void)
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
            record_shut(thread);
            return NULL;
        }
        if (unlikely(load_relaxed(&engine.unwatched) != 0)) {
            watch_forks();
        }
    }
    return thread;
}

noinline struct thread *current_enter_surely(void)
{
    struct thread *thread = current_enter();
    return thread == NULL && load_acquire(&engine.running) != 0 ? thread_open_last() : thread;
}

noinline void current_leave_slow(struct thread *thread)
{
    record_shut(thread);
}

/* A thread that has no record now gets one until the fork is done: fork handlers of others that run after ours may
 * allocate, and no record can be had while the registry is locked. */
static void before_fork(void)
{
    (void)engine_running();
    lock_acquire(&engine.lock);
    struct thread *thread = stat_get(&engine.running) == 0 ? NULL : current_enter_surely();
    engine.fork_heap = heap_current;
    engine.fork_borrowed = heap_current->thread == NULL ? thread : NULL;
    if (engine.fork_borrowed != NULL) {
        heap_current = &thread->heap;
    }
    thread_fork_prepare(heap_current->thread);
}

static void fork_done(void)
{
    struct thread *borrowed = engine.fork_borrowed;
    struct heap *const before = engine.fork_heap;
    lock_release(&engine.lock);
    if (borrowed != NULL) {
        heap_current = before;
        record_shut(borrowed);
    }
}

static void after_fork_parent(void)
{
    thread_fork_parent(heap_current->thread);
    fork_done();
}

static void after_fork_child(void)
{
    struct thread *self = heap_current->thread;
    scope_fork_child(self);
    for (struct thread *thread = registry.live; thread != NULL && self != NULL; thread = thread->next) {
        if (thread != self) {
            work_close(self, thread);
        }
    }
    thread_fork_child(heap_current->thread);
    fork_done();
}

/* What may fail. Until it works, the next thread that joins tries again: it takes two to make a fork dangerous. */
static noinline void watch_forks(void)
{
    store_relaxed(&engine.unwatched, 0); /* it may allocate, and must not come here again from there */
    if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0) {
        store_relaxed(&engine.unwatched, 1);
    }
}

/* Early: before there are threads, and so that of all fork handlers ours run last before a fork and first after it, for
 * others may allocate. */
__attribute__((constructor(101))) static void engine_constructor(void)
{
    const int saved = errno;
    if (!engine.options_loaded) {
        engine.options_loaded = option_load();
    }
    (void)engine_running(); /* if there is no memory now, the next allocation tries again */
    watch_forks();
    errno = saved;
}
