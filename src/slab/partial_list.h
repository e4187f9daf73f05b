/* The partial slabs of one class and epoch: a list, its lock, and the revisit queue in the lock's word.
 *
 * All changes of a slab's state between ATTACHED, FULL, PARTIAL and EMPTY happen here, under the lock that the slab's
 * word names. A free never waits for that lock: it leaves the slab on the lock's queue, and the holder of the lock
 * looks at it before it releases the lock (a harvest). A slab that is found empty goes to the depot at once: recycling
 * is continuous.
 *
 * partial_evaluate acts on the slab's state alone, whatever the caller and its reason. So late and needless calls are
 * harmless.
 *
 * Invariants: a slab is on a list exactly while it is PARTIAL, and then it has a slot. length is the number of slabs on
 * the list. The protocol's card is docs/protocols/slab.md. Threads: any, inside a gate. */
#ifndef TSLAB_SLAB_PARTIAL_LIST_H
#define TSLAB_SLAB_PARTIAL_LIST_H

#include "slab/epoch_record.h"

/* Each list has its own cache line, so that threads that allocate in one class and free in another do not share one. */
struct partial_list {
    _Alignas(CACHE_LINE) struct lock lock;
    atomic_u32 head; /* the first slab, 0 when there is none; changed under the lock */
    uint32_t tail;   /* the last slab, 0 when there is none */
    atomic_u32 length;
    uint32_t class; /* constant */
};

_Static_assert(sizeof(struct partial_list) == CACHE_LINE, "a line each");

/* Totals of all lists of a class. Epochs' lists count here too, so that reports need not look for them. A count is made
 * once for a slab or a queue, each of which costs several locked operations anyway. */
struct partial_counters {
    _Alignas(CACHE_LINE) atomic_u64 recycled; /* slabs that emptied and went to the depot */
    atomic_u64 drained;                       /* of these, slabs that emptied after their epoch was closed */
    atomic_u64 released;                      /* objects ended by a release instead of by a free */
    atomic_u64 queued;                        /* slabs left on a queue, each time */
    atomic_u64 harvests;                      /* queues harvested */
    atomic_u64 harvested;                     /* slabs on these queues */
    atomic_u64 queue_longest;                 /* slabs on the longest queue */
};

extern struct partial_counters partial_counters[CLASS_LIMIT];

/* Initialises the lists of the process, before there are slabs. */
void partial_lists_begin(void);

/* Makes sure that an epoch has lists for slabs. False: no memory. */
bool partial_lists_need(struct epoch *epoch);

/* Takes a slab off the list. The caller then holds it attached. NULL when there is none. Waits for the lock. */
struct run *partial_attach(struct partial_list *partial);

/* Ends the caller's hold of an attached slab, which becomes FULL, PARTIAL or EMPTY by its bits. Waits for the lock. */
void partial_detach(struct run *slab);

/* For the purger of free pages. Looks at the first slab of the list. If pages are there although no slot on them is in
 * use, and they are worth a purge or each page is, the caller holds it attached. Else it moves to the end of the list,
 * and the result is NULL. */
struct run *partial_attach_unpurged(struct partial_list *partial, bool each_page);

/* Looks at a slab, and changes its state if its bits demand that. Never waits. */
void partial_evaluate(struct run *slab);

/* Around a look at a list, for walks (tests/laws): nothing in it changes meanwhile. Waits for the lock. */
void partial_begin_look(struct partial_list *partial);
void partial_end_look(struct partial_list *partial);

/* Makes a slab of a released epoch EMPTY. Every object in it is dead, and no thread holds it or frees in it. */
void partial_discard(struct run *slab);

#endif
