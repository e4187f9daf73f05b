/* The number of the program's threads, and the start and end of the keeper (keeper.h), which depend on it.
 *
 * The option `keeper` says how many threads the program must have so that there is a keeper: two (keeper=1) or one (2).
 * With 0 there is never one. The thread that makes the second thread also starts the keeper, outside of malloc. The
 * thread whose end leaves too few threads ends the keeper and waits until it is gone. Where many keepers came and went
 * lately, the next one waits for a thread that is made or ends later. So a process still ends with the
 * program's last thread. The system also treats the process as single-threaded as soon as the program has one thread.
 *
 * A thread counts from just before it is made until its thread-specific destructor runs. The drop-in reports each
 * thread that the program makes (api/threads.c). Without the drop-in, no thread is reported. With keeper=2, the thread
 * that started the library then counts as the only one.
 *
 * A thread holds `lock` while it starts or ends the keeper, and while it forks. The keeper never takes it. While a
 * thread holds it, libc may call malloc and free in that thread.
 *
 * Invariants: no thread counts twice, and the keeper does not count.
 *
 * Threads: any; outside of all gates, locks and signal handlers. */
#ifndef TSLAB_MALLOC_PROGRAM_THREADS_H
#define TSLAB_MALLOC_PROGRAM_THREADS_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/lock.h"

#include <pthread.h>
#include <stdbool.h>

typedef int program_threads_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                                   void *argument);

/* The values of the option. Where other processes may ask for something (option export), the keeper answers, so there
 * is always one. */
enum keeper_wanted { KEEPER_NEVER, KEEPER_BESIDE_THREADS, KEEPER_ALWAYS };
enum keeper_wanted program_threads_keeper_wanted(void);

struct program_threads {
    struct lock lock;
    atomic_u32 threads;      /* the number of the program's threads */
    atomic_u32 is_kept;      /* 1: there is a keeper */
    atomic_u32 is_barred;    /* 1: the system refused a thread, so no keeper starts while the program has threads */
    atomic_u32 is_over;      /* 1: no keeper will start any more */
    atomic_u64 lately_ms;    /* when the count of keepers that end began */
    atomic_u32 lives_lately; /* the keepers that have ended since */
    bool begins_late;        /* the library's constructor cannot make a thread */
    pthread_t keeper;

    /* libc's functions, where the drop-in's replace them for the program. */
    program_threads_create *create;
    int (*join)(pthread_t thread, void **result);
};

extern struct program_threads program_threads;

/* Whether the calling thread counts. */
extern per_thread bool program_threads_counts_me;

/* Counts a thread: one that is about to be made, or one that runs and did not count yet. */
void program_threads_grow(void);

/* Stops counting a thread that could not be made or that ends. Ends the keeper if too few threads are left. */
void program_threads_shrink(void);

/* Called by a thread that has ended its record. Where it leaves the program with one thread and no keeper, it gives
 * back the memory that threads have left behind, because no slow operation may follow. */
void program_threads_clear(void);

/* Starts or ends the keeper, as the number of threads and the option demand. */
void program_threads_settle(void);

/* Called when the system has refused the program a thread. Ends the keeper, so that the program can have its thread,
 * and bars another keeper. False: there was no keeper. */
bool program_threads_make_room(void);

/* Called in the child of a fork, with the lock held: only the calling thread is left. */
void program_threads_is_gone(void);

#endif
