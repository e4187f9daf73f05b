/* Limits: how much memory the process may use, and what happens near the end.
 *
 * What counts is the *footprint*: used runs, and empty ones that may have pages. It is at least what is resident of
 * objects and of memory that waits for reuse, apart from the engine's own records.
 *
 *   hard       The footprint never exceeds it: what would is refused, after all that can be given back was given back.
 *   soft       Above it nothing waits for reuse, caches are small, and the program is told.
 *   container  Near the limit of the process's control group the same holds, but for telling. The keeper finds out;
 *              where there is none, nobody does.
 *
 * Threads: any. */
#ifndef TSLAB_SPACE_LIMIT_H
#define TSLAB_SPACE_LIMIT_H

#include "common/option.h"
#include "common/quota.h"
#include "common/trace.h"
#include "space/free_runs.h"

#include <tslab/tslab.h>

enum limit_state {
    LIMIT_CALM,
    LIMIT_RAISED, /* the footprint is above the soft limit, and nobody was told so far */
    LIMIT_TOLD
};

struct limits {
    atomic_size_t hard_units; /* SIZE_MAX: none */
    atomic_size_t soft_units; /* SIZE_MAX: none */
    atomic_u32 state;
    atomic_u32 container_presses; /* 1: the control group is near its limit */
    atomic_u64 refusals;          /* allocations of runs that the hard limit refused */
    atomic_u64 epoch_refusals;    /* and that limits of epochs and instances did */
};

extern struct limits limits;

/* The units that may have pages. */
static inline size_t limit_footprint(void)
{
    return counter_get(&depot.units[RUN_USED]) + counter_get(&depot.units[RUN_DIRTY]) +
           counter_get(&depot.units[RUN_STUCK]);
}

/* Whether so many units that have no pages may be taken. Counts a refusal. Under the depot's lock. */
bool limit_allows(size_t units);

/* Tells tracers that a limit was reached: bytes in use, bytes that are wanted, and the value of the
 * epoch whose limit it is, or 0. Anywhere. */
void limit_reached(enum limit_kind kind, uint64_t used_bytes, uint64_t wanted_bytes, uint64_t epoch);

/* What a limit has refused. */
struct limit_refusal {
    const char *whose;       /* limit it is */
    char label[LABEL_BYTES]; /* of the epoch; "": none */
    uint64_t limit_bytes, used_bytes;
};

/* Notes a refusal, for the line on stderr that an allocation that fails writes. In a gate. */
void limit_note_refusal(const struct limit_refusal *refusal);

/* An allocation fails: tells tracers, and writes a line if a limit was the reason, but not more than one in a minute.
 * Outside of all gates and locks. */
void limit_no_memory(size_t bytes);

/* In the child of a fork, which has one thread. */
void limit_forget_refusal(void);

/* Sets the limits: in a gate, or while the engine starts. And tells them, anywhere. */
void limit_set(const struct tslab_limits *set);
void limit_get(struct tslab_limits *set);

/* The value of an option, which, if it is a limit, the program may have set in another way. */
uint64_t limit_option(enum option option);

/* Whether memory is to be saved: above the soft limit, or near that of the container. */
static inline bool limit_presses(void)
{
    return (load_plain(&limits.state) | load_plain(&limits.container_presses)) != LIMIT_CALM;
}

/* Looks at the soft limit. At the end of slow operations. */
void limit_look(void);

/* The keeper, which alone watches the container, calls these. */

/* Opens the files of the groups that have a limit. The calling thread has a table of descriptors of its own. Where
 * there is no limit, no file is opened a second time. */
void limit_watch_container(void);

/* Has `sleeps` sleep for so many milliseconds in all, until it returns false, or until the container that is watched
 * begins to press. */
void limit_nap(bool (*sleeps)(uint32_t most_ms), uint32_t most_ms);

/* One look, of which the nap has several. Returns whether the container begins to press. */
bool limit_look_at_container(void);

/* The keeper is gone, and its descriptors with it. */
void limit_forget_container(void);

/* Tells the program once each time that the footprint has passed the soft limit. Outside of all gates and locks. */
void limit_tell(void);

static inline void limit_tell_if_due(void)
{
    if (unlikely(load_plain(&limits.state) == LIMIT_RAISED)) {
        limit_tell();
    }
}

#endif
