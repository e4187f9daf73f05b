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
#include "os/given.h"
#include "os/helper_thread.h"
#include "os/os.h"
#include "space/limit.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

/* The rounds of destructors that are sure to come, for a thread in which the first one has begun. */
static per_thread unsigned rounds_left;

/* The key whose destructor is thread_ends. It is made outside of all locks, because libc's function may be another
 * library's that allocates. */
static pthread_key_t key_of_ends;

/* Which round of destructors this is, is known of a thread that was counted: it had its key set from its beginning, so
 * the first call is in the first round. Where the key is set again, the next round comes. The last round is left out:
 * sanitizers forget the thread at its start. */
static bool has_further_round(bool is_first)
{
    if (is_first) {
        rounds_left = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
    }
    invariant(rounds_left < PTHREAD_DESTRUCTOR_ITERATIONS);
    if (rounds_left != 0 && --rounds_left != 0 && pthread_setspecific(key_of_ends, &engine) != 0) {
        rounds_left = 0;
    }
    return rounds_left != 0;
}

/* The thread's destructor. Other destructors may run after it and allocate or free. Before the last round, the thread
 * joins again for them, and ends again in the next round. Else a borrowed record serves each operation: to join when
 * there may be no later round would leak the heap. The value only says that there is something to end. After dlmopen it
 * may come from another copy of this library, since the keys of a second libc have the same numbers. */
static void thread_ends(void *value)
{
    const bool is_first = program_threads_counts_me;
    (void)value;
    if (is_first) {
        program_threads_counts_me = false;
        program_threads_shrink(); /* may have libc free */
    }
    struct thread *thread = front_current->thread;
    const bool was_counted = is_first || rounds_left != 0;
    const bool goes_on = has_further_round(is_first);
    if (thread == NULL && !was_counted) {
        return;
    }
    if (thread != NULL) {
        scope_leave_all(thread);
        work_unit_close(thread, thread);
        invariant(front_current == &thread->heap.front);
    }
    front_current = goes_on ? &front_late : &front_gone;
    if (thread != NULL) {
        thread_leave(thread);
        program_threads_clear();
    }
}

/* This thread ends the program, perhaps in the middle of a slow operation. A handler of SIGABRT may still allocate and
 * fork. It bypasses the thread's record, and the gate is released so that no thread waits for it. (A thread that holds
 * more locks than a gate has found a broken invariant, in a checked build. A handler that allocates then finds the
 * next one.) */
static void thread_dies(void)
{
    struct thread *thread = front_current->thread;
    store_plain(&engine.dying, 1);
    store_plain(&program_threads.is_over, 1);
    (void)lock_ranks_swap(lock_ranks_swap(0) & ~(1u << RANK_GATE));
    if (thread != NULL) {
        front_current = &front_gone;
        if (thread->gate.is_inside) {
            gate_unlock(&thread->gate);
        }
    }
}

/* Whether there is a key. If there is none, the thread that finds none makes it. */
static noinline bool make_key(void)
{
    uint32_t state = KEY_NONE;
    if (!cas_acquire(&engine.key, &state, KEY_IN_MAKING)) {
        return state == KEY_MADE;
    }
    fatal_prepare = thread_dies;
    const bool is_made = pthread_key_create(&key_of_ends, thread_ends) == 0;
    store_release(&engine.key, is_made ? KEY_MADE : KEY_NONE);
    return is_made;
}

static bool has_key(void)
{
    return load_acquire(&engine.key) == KEY_MADE || make_key();
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
    if (!engine_start()) {
        return NULL;
    }
    struct front *const before = front_current;
    const bool begins = before == &front_late || (before == &front_none && has_key());
    if (before == &front_none && !begins && load_acquire(&engine.key) == KEY_NONE) {
        return NULL;
    }
    struct thread *thread = thread_open(begins);
    if (thread != NULL && begins) {
        front_current = &thread->heap.front;
        /* This may allocate, which works by now. If it fails, the thread's end would not be noticed. */
        if (before == &front_none && pthread_setspecific(key_of_ends, thread) != 0) {
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
    program_threads_counts_me = engine_start() && has_key() && pthread_setspecific(key_of_ends, &engine) == 0;
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
    scope_leave_all(thread);
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
    os_learn();
    lock_acquire(&engine.lock);
    engine_load_options(environment);
    lock_release(&engine.lock);

    if (environment != NULL) {
        option_complain(environment);
    }
    /* A sanitizer's own start comes later still: there, the first allocation starts the engine. The library that is
     * built with one comes after it. If there is no memory now, the next allocation tries again. */
    if (TSLAB_TSAN || !os_is_sanitized()) {
        (void)(engine_start() && has_key());
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
    if (!program_threads.begins_late && current_count()) {
        program_threads_settle();
    }
}
