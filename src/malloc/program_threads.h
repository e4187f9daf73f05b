/* The company that the library has in its process: the program's threads, counted, and the keeper (keeper.h), whose
 * life hangs on them.
 *
 * There is a keeper exactly while the program has two threads or more (option keeper=1), one or more (2), or never (0).
 * It is started by the thread that makes another one, and outside of malloc. The thread whose end leaves too few waits
 * until the keeper has ended. So a process ends with its last thread, and what the system does only for a process with
 * one thread it does as soon as the program has one.
 *
 * A thread is counted from before it is made until its thread-specific destructor runs. The drop-in makes that known
 * for each thread that the program makes (api/threads.c). Without it nobody does, and the thread that has started the
 * library counts alone, where the option is 2.
 *
 * `lock` is held while the keeper is started or ended, and by a fork. The keeper never takes it. Who holds it may have
 * libc allocate and free.
 *
 * Invariants: a thread that counts is not counted twice; the keeper does not count.
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

/* The values of the option. */
enum keeper_wanted { KEEPER_NEVER, KEEPER_BESIDE_THREADS, KEEPER_ALWAYS };

struct program_threads {
    struct lock lock;
    atomic_u32 threads;   /* of the program */
    atomic_u32 is_kept;   /* 1: there is a keeper */
    atomic_u32 is_barred; /* 1: none may come as long as there are threads, for the system refuses more of them */
    atomic_u32 is_over;   /* 1: none will come any more */
    bool begins_late;     /* the library's constructor cannot make a thread */
    pthread_t keeper;

    /* Libc's own, where the program calls ours by these names. */
    program_threads_create *create;
    int (*join)(pthread_t thread, void **result);
};

extern struct program_threads company;

/* Whether the calling thread counts. */
extern per_thread bool program_threads_counts_me;

/* A thread is about to be made, or is found that did not count. */
void program_threads_grow(void);

/* It could not be made, or it ends. Ends the keeper with the last but one. */
void program_threads_shrink(void);

/* Starts or ends the keeper, if it should be so. */
void program_threads_settle(void);

/* The system has refused the program a thread. Ends the keeper, which may have had the last one, and bars it. False:
 * there was none. */
bool program_threads_make_room(void);

/* Ends the keeper and starts another one, which sees the options that were set. */
void program_threads_renew_keeper(void);

/* In the child of a fork, with the lock: there is the calling thread alone. */
void program_threads_is_gone(void);

#endif
