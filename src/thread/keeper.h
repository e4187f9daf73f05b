/* The keeper: a thread of the library's own that gives memory back while no thread of the program calls. Without it, a
 * process that falls idle keeps what it freed last. program_threads.h says when there is one.
 *
 * While there is something to give back it looks every LOOK_MS: it purges empty runs whose time is over, and empties
 * kept trays, hot runs, attached slabs and exchanges that were not used since its last look. When nothing is left, and
 * no slow operation came, it sweeps the slabs for free pages once. Then it sleeps until a slow operation wakes it.
 * Where reports may be asked for while the program runs, by a signal or by other processes, it looks for that each
 * LOOK_MS.
 *
 * It holds `lock` for each step of its work, and a fork takes that lock, so a fork never cuts it off in the middle of
 * something. It touches a thread's heap only with the lock of the thread's gate. Of magazines it takes
 * what idle.h allows, and leaves outboxes alone. It ends when it is asked to, after the step that it is in.
 *
 * It allocates nothing, has no record, and blocks all signals. Its descriptors are its own (os/helper_thread.h). It
 * never waits while it writes, so a thread that waits for its end does not wait for a reader of its reports.
 *
 * Threads: any. The card of the protocol is docs/protocols/thread.md. */
#ifndef TSLAB_THREAD_KEEPER_H
#define TSLAB_THREAD_KEEPER_H

#include "base/atomic.h"
#include "os/lock.h"

#include <stdbool.h>

struct keeper {
    struct lock lock;
    atomic_u32 is_asked_to_end; /* it naps on this word */
    atomic_u32 thread;          /* its number */
    atomic_u64 looks;           /* since the start of the process */
    bool (*nap_is_over)(void);  /* asked between the steps of a look that is part of a nap; else NULL */
    bool waits;                 /* until threads have done nothing for so long that it takes slots of theirs */
};

extern struct keeper keeper;

/* The thread's routine, with all signals blocked. It returns when it is asked to end. */
void *keeper_run(void *unused);

/* Asks the keeper to end, and wakes it. */
void keeper_ask_to_end(void);

/* There is no keeper: it has ended, or this is the child of a fork. The next one is not asked to end. */
void keeper_is_gone(void);

/* A look by a thread that sleeps (nap.h), in a process without a keeper. It sweeps, and sets *swept, when nothing else
 * is left and no slow operation came since the look before. Returns whether there is something to give back later. */
bool keeper_nap(bool (*is_over)(void), bool *swept);

/* The last look, by the thread whose end leaves the program with one thread and no keeper: what lies in the exchange
 * goes back to its slabs, and what is too much or old goes back to the system. With signals blocked. */
void keeper_look_last(void);

/* One look. With `sweeps` it also looks for free pages in the slabs of the process, which takes longer. Returns whether
 * there is something to give back later. It ends early where the keeper is to end. The keeper calls it, and tests
 * do. */
bool keeper_look(bool sweeps);

#endif
