/* The keeper: a thread of the library's own that gives memory back while no thread of the program calls. Without it, a
 * process that falls idle keeps what it freed last.
 *
 * It exists only in a process that has threads of its own and some MiB in use, and unless the option `keeper` is 0.
 * While there is something to give back it looks every KEEP_MS: it purges empty runs whose time is over, and empties
 * stocks, hot runs, attached slabs and exchanges that were not used since its last look. When nothing is left, and no
 * slow operation came, it sweeps the slabs for free pages once. Then it sleeps until a slow operation wakes it.
 *
 * It holds `lock` while it works, and a fork takes that lock, so a fork never cuts it off in the middle of something.
 * What belongs to a thread it touches only with the lock of the thread's gate; magazines and outboxes, which threads
 * use without it, not at all. A child of a fork has no keeper, and starts one when it has threads.
 *
 * Where reports may be asked for while the program runs (due.h), it exists in any process with threads, looks whether
 * one is due each KEEP_MS, and writes it.
 *
 * It allocates nothing, has no record, and blocks all signals.
 *
 * Threads: any. The card of the protocol is docs/protocols/thread.md. */
#ifndef TSLAB_CORE_KEEPER_H
#define TSLAB_CORE_KEEPER_H

#include "core/heap.h"
#include "os/lock.h"
#include "os/os.h"

enum keeper_state { KEEPER_NONE, KEEPER_STARTED /* or not to be had */ };

struct keeper {
    struct lock lock;
    atomic_u32 state;
    atomic_u32 is_in_child; /* the process is the child of one that had threads */
    atomic_u64 looks;       /* since the start of the process */
};

extern struct keeper keeper;

/* Whether the process has threads, or had some. Of a child of such a process libc cannot tell: there, threads that
 * allocate count. */
static inline bool keeper_has_company(void)
{
    return os_has_threads() && (load_plain(&keeper.is_in_child) == 0 || counter_get(&heap_live_count) > 1);
}

/* Starts the keeper if the process should have one. Outside of all gates, locks and epochs, because the system's call
 * for a thread may allocate. Only in an allocation: libc frees while it holds the lock that this call needs. */
void keeper_start(void);

static inline void keeper_start_if_due(void)
{
    if (unlikely(load_plain(&keeper.state) == KEEPER_NONE) && keeper_has_company()) {
        keeper_start();
    }
}

/* In the child of a fork, with the lock: there is no keeper. */
void keeper_is_gone(void);

/* One look; it may also sweep the slabs of the process for free pages, which takes longer. Returns whether there is
 * something to give back later. The keeper calls it, and tests do. */
bool keeper_look(bool sweeps);

#endif
