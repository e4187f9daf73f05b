/* The current thread: how it gets its record, and what happens when it ends.
 *
 * The thread-local variable is one pointer, and it always points to a front: to front_none before the thread's first
 * slow path, to one of its own while it lives, to front_late once its destructor has run and will run again, and to
 * front_gone in the end. So the fast path needs no
 * test whether anything is initialised.
 *
 * Threads: each for itself. */
#ifndef TSLAB_MALLOC_CURRENT_THREAD_H
#define TSLAB_MALLOC_CURRENT_THREAD_H

#include "thread/thread.h"

/* The record with which the thread may do a slow operation: its own, or, after its end, a borrowed one. Starts the
 * engine and joins the thread, if that has not happened. NULL: no memory, and there is nothing to put back. */
struct thread *current_thread_get_slow(void);

/* The same for an operation that must not fail for want of memory: lends the last record then. NULL: the engine has not
 * started. */
struct thread *current_thread_get_surely(void);

/* Has the end of the calling thread, which is counted, lower the count (program_threads.h). False: it would go
 * unnoticed. */
bool current_thread_notice_end(void);

/* Counts the calling thread, if it does not count yet. False: its end would go unnoticed, so it does not. */
bool current_count(void);

/* Sets limits in the thread's gate, while the engine runs, so that its start does not set those of the options later.
 */
struct tslab_limits;
void current_thread_set_limits(const struct tslab_limits *set);

/* Gives a borrowed record back. */
void current_thread_put_slow(struct thread *thread);

static inline struct thread *current_thread_get(void)
{
    struct thread *thread = front_current->thread;
    return likely(thread != NULL) ? thread : current_thread_get_slow();
}

static inline void current_thread_put(struct thread *thread)
{
    if (unlikely(front_current->thread == NULL)) {
        current_thread_put_slow(thread);
    }
}

#endif
