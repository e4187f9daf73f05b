/* The ranks of the locks, and which of them a thread may hold while the system maps memory or gives it back.
 *
 * A thread takes a lock only while all locks that it holds have a lower rank. Gates are an exception: fork takes
 * several at once.
 *
 * Such a system call may take as long as the kernel likes: it clears gigabytes, or waits for another thread's fault. So
 * a thread makes none while it holds a lock that a malloc or free of another thread or epoch may wait for. Each call
 * through the system's table (os.h) asserts that. docs/protocols/memory.md says who waits for the other locks.
 *
 * Checked builds record and check all of it. The simulation does not: all its threads share one set of thread-local
 * variables. */
#ifndef TSLAB_OS_RANKS_H
#define TSLAB_OS_RANKS_H

#include "base/bits.h"

#include <stdbool.h>
#include <stdint.h>

enum lock_rank {
    RANK_PROGRAM_THREADS = 1, /* the keeper's start and end */
    RANK_START,               /* the engine's start */
    RANK_KEEPER,              /* the keeper's work, against fork */
    RANK_LAST,                /* the last record */
    RANK_REGISTRY,            /* the list of threads and heaps */
    RANK_GATE,                /* a thread's slow operations, against fork */
    RANK_LABELS,              /* the tables of reports */
    RANK_HOLDS,               /* idle holds that are emptied */
    RANK_SWEEP,               /* the sweep for free pages in used slabs */
    RANK_LIST,                /* a list of partial slabs */
    RANK_RUNS,                /* the runs of an epoch */
    RANK_EPOCHS,              /* idle records of epochs */
    RANK_PURGE,               /* the purger, which gives pages back */
    RANK_TRAP,                /* trapped runs */
    RANK_GROWTH,              /* growth of the arena */
    RANK_DEPOT,               /* empty runs */
    RANK_EXCHANGE,            /* full trays that wait for any thread */
    RANK_TRAYS,               /* empty trays */
    RANK_HANDLES,             /* tables of handles that serve no epoch */
    RANK_LIMITS,              /* the limits that the program sets */
    RANK_SAMPLES,             /* sampled objects and their stacks */
    RANK_META,                /* memory for the engine's own records */
};

#define RANK_BIT(rank) (UINT32_C(1) << (rank))

/* The locks that are not held during a system call about memory. */
enum {
    RANKS_WAITED_FOR = RANK_BIT(RANK_REGISTRY) | RANK_BIT(RANK_LIST) | RANK_BIT(RANK_RUNS) | RANK_BIT(RANK_EPOCHS) |
                       RANK_BIT(RANK_TRAP) | RANK_BIT(RANK_DEPOT) | RANK_BIT(RANK_EXCHANGE) | RANK_BIT(RANK_TRAYS) |
                       RANK_BIT(RANK_HANDLES) | RANK_BIT(RANK_LIMITS) | RANK_BIT(RANK_SAMPLES) | RANK_BIT(RANK_META)
};

enum { RANKS_CHECKED = TSLAB_CHECKED && !TSLAB_SIM };

extern per_thread uint32_t held_ranks;

/* Whether the thread holds none of them. */
static inline bool ranks_allow_system_call(void)
{
    return !RANKS_CHECKED || (held_ranks & RANKS_WAITED_FOR) == 0;
}

#endif
