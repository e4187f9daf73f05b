/* Limits: how much memory the process may use, and what happens near the end.
 *
 * The *footprint* counts: used runs, without the pages in them that a purger gave back, and empty ones that may have
 * pages. It is at least the resident memory of objects and of memory that waits for reuse, without the engine's own
 * records.
 *
 *   hard       The footprint never exceeds it: an allocation that would is refused, after all free memory went back.
 *   soft       Above it nothing waits for reuse, caches are small, and the program is told.
 *   container  Near the limit of the process's control group the same holds, but for telling. Only the keeper
 *              looks.
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
    atomic_u64 refusals;          /* allocations that failed because of the hard limit, */
    atomic_u64 epoch_refusals;    /* and because of limits of epochs and instances */

    /* The container at the last look, while the option blackbox is set: its limit (0: it has none), what was left, and
     * what of the process was resident then. Between two looks of the keeper, the growth of the process is taken off:
     * where the footprint reaches `ask_units`, it may have grown enough. */
    atomic_u64 container_bytes, container_left, container_rss;
    atomic_size_t ask_units;
    atomic_size_t reported_use; /* the used runs, roughly, when nothing was to report; SIZE_MAX: look in any case */
    atomic_u32 near_part;       /* whoever reports waits until so small a part of the limit is left; 0: for nothing */
};

extern struct limits limits;

/* The units that may have pages. */
static inline size_t limit_footprint(void)
{
    const size_t units = counter_get(&depot.units[RUN_USED]) + counter_get(&depot.units[RUN_DIRTY]);
    const size_t gone = load_relaxed(&depot_usage.gone_pages) * os_page_bytes() >> UNIT_SHIFT;
    return units > gone ? units - gone : 0;
}

/* Takes the pages of a slab or a chunk that are not there out of the footprint. The purger, which holds or pins it. */
void limit_count_gone(struct run *run);

/* These pages count again. By the owner of the run. limit_takes_back is for slots on them that will be handed out.
 * False: the limit has no room for the pages. Not under the depot's lock. */
void limit_forget_gone(struct run *run);
bool limit_takes_back(struct run *run);

/* Whether so many units that have no pages may be taken. Under the depot's lock. limit_has_room is for what can be done
 * without. Where limit_allows says no, it notes the refusal. */
bool limit_has_room(size_t units);
bool limit_allows(size_t units);

/* A refusal by a limit. An allocation that is refused may be served yet, for example after a purge. So each thread
 * notes the last refusal only, with the figures of that moment, and it counts if the allocation fails. */
struct limit_refusal {
    const char *whose; /* limit it is; NULL: nothing was refused */
    enum limit_kind kind;
    char label[LABEL_BYTES]; /* of the epoch; "": none */
    uint64_t limit_bytes, used_bytes, wanted_bytes;
    uint64_t epoch;       /* the value of the epoch whose limit it is; 0: it is of none */
    atomic_u64 *count;    /* where it counts, */
    atomic_u64 *of_epoch; /* and where else; NULL: nowhere */
};

/* Notes a refusal for the calling thread, and forgets it because the allocation was served. */
void limit_note_refusal(const struct limit_refusal *refusal);
void limit_forget_refusal(void);

/* Whether the last one was by the hard limit. Forgets it then: the caller gives memory back, which may serve without
 * asking a limit again. */
bool limit_take_hard_refusal(void);

/* An allocation fails: tells tracers. If a limit was the reason, counts the refusal, and writes a line, but not more
 * than one in a minute. Outside of all gates and locks. */
void limit_no_memory(size_t bytes);

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

/* The same for one look at the start, before there is a keeper. Nothing stays open. */
void limit_look_once(void);

/* Has `sleeps` sleep for so many milliseconds in all, until it returns false, or until the container that is watched
 * begins to press. */
void limit_nap(bool (*sleeps)(uint32_t most_ms), uint32_t most_ms);

/* One look, of which the nap has several. Returns whether the container begins to press, or whoever reports has waited
 * for it. */
bool limit_look_at_container(void);

/* Takes what the process has grown by off what was left in the container, if it may be enough to report. Any thread,
 * outside of all gates and locks. */
void limit_ask(void);

static inline void limit_ask_if_due(void)
{
    if (unlikely(limit_footprint() >= load_plain(&limits.ask_units))) {
        limit_ask();
    }
}

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
