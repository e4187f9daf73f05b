/* A nap: the thread of a process without a keeper gives memory back while it sleeps. When LOOK_MS have passed since its
 * last look, it looks as the keeper does (keeper.h), and so on until nothing is left. So a program that works on keeps
 * what it uses. All signals wait during a look, and the first that comes ends it.
 *
 * Invariants: there is no nap beside a keeper, nor in a slow operation. Threads: any, also in a signal handler. */
#ifndef TSLAB_THREAD_NAP_H
#define TSLAB_THREAD_NAP_H

#include "os/before_sleep.h"
#include "space/reclaim.h"

/* The files that a thread waits for, or their sets. */
struct sleeper {
    struct pollfd *files;
    nfds_t count;
    fd_set *const *sets; /* NULL: none */
};

extern atomic_u32 nap_is_allowed, nap_left;

/* Some loads: a slow operation came since the last look, or that left something. */
static inline bool nap_may_be_due(void)
{
    return unlikely((load_plain(&reclaim_waits) == 0) | load_plain(&nap_left)) && load_plain(&nap_is_allowed) != 0;
}

/* How long the thread may sleep before the next look. UINT64_MAX: as long as it likes. No system call. */
uint64_t nap_wait_ms(void);

/* Looks, if it is time. Returns which signals came meanwhile: their handlers have run. */
enum signals_came nap_take(const struct sleeper *sleeper);

/* Naps are allowed from now on, or never again. */
void nap_allow(void);
void nap_forbid(void);

/* This is the child of a fork. That of a vfork, which has its parent's memory, does not say so, and takes no nap. */
void nap_is_in_child(void);

#endif
