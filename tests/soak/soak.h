/* The soak program: a process that lives long and does a bit of everything, and knows of every object what is in it.
 *
 * Each object is filled with a pattern of its own when it is born, and checked whenever it is reallocated, handed over,
 * looked at or freed, all of its bytes. All objects, epochs and instances are in tables, so at a quiet moment the
 * statistics can be held against the tables (soak.c). */
#ifndef SOAK_H
#define SOAK_H

#include "check.h"

#include <stdbool.h>
#include <tslab/tslab.h>

enum { POOL = 1500, KEPT_HANDLES = 200, PER_REQUEST = 400 };

/* Counts of the work so far, one for each line of the report. X(name, what it counts) */
#define COUNTERS(X)                                                                                                    \
    X(objects, "objects allocated")                                                                                    \
    X(bytes, "bytes asked for")                                                                                        \
    X(checked_bytes, "bytes checked")                                                                                  \
    X(reallocations, "reallocations")                                                                                  \
    X(handed_objects, "objects freed by a thread that they were handed to")                                            \
    X(handles, "objects with handles")                                                                                 \
    X(large, "large objects")                                                                                          \
    X(requests, "requests")                                                                                            \
    X(epochs, "epochs")                                                                                                \
    X(handed_scopes, "scopes that went on on another thread")                                                          \
    X(visits, "visits of an epoch that all share")                                                                     \
    X(units, "units of work")                                                                                          \
    X(instances, "instances")                                                                                          \
    X(reports, "lines of TSLAB_POLICY_REPORT")                                                                         \
    X(threads, "threads that came and went")                                                                           \
    X(forks, "forks")

#define COUNTER_MEMBER(name, text) uint64_t name;
struct counters {
    COUNTERS(COUNTER_MEMBER)
};

struct item {
    char *p; /* NULL: none */
    size_t size;
    uint64_t seed;
};

struct kept_handle {
    struct item item;
    tslab_handle handle;
};

struct worker {
    uint64_t random;
    struct counters done;
    struct item pool[POOL];                /* the working set: of the process */
    tslab_epoch keeper;                    /* an epoch that lives as long as the worker */
    struct kept_handle kept[KEPT_HANDLES]; /* objects in it */
    tslab_epoch rotating;                  /* {0}: none */
    uint64_t requests_in_it;
};

#define KEEPER_LABEL "keeper"
#define UNIT_LABEL   "unit"

static inline size_t below(struct worker *worker, size_t limit)
{
    return random_next(&worker->random) % limit;
}

static inline bool one_in(struct worker *worker, size_t n)
{
    return below(worker, n) == 0;
}

/* The policy of most requests' epochs for survivors. TSLAB_POLICY_DEFAULT: each something else. */
extern enum tslab_policy requests_policy;
/* How many objects a request has at most: from 20 to PER_REQUEST. */
extern unsigned long requests_objects;

/* One of many kinds of requests. */
void request(struct worker *worker);

/* Replaces objects of the working set, of which all places are filled then. */
void pool_replace(struct worker *worker, size_t times);

/* Ends the epoch that the worker's requests rotate in; and all that waits for another thread. */
void requests_end(struct worker *worker);
void requests_rest(struct worker *worker);

/* A fork at a moment when nothing that the threads share is half done. */
int requests_fork(void);

/* Makes what the worker keeps, and ends it, on whichever thread. */
void worker_begins(struct worker *worker, uint64_t seed);
void worker_ends(struct worker *worker);

/* Checks the contents of all that the worker keeps. */
void worker_checks(struct worker *worker);

#endif
