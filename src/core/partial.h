/* The partial slabs of one class and epoch: a list, its lock, and the revisit queue in the lock's word.
 *
 * Everything that changes a slab's state between ATTACHED, FULL, PARTIAL and EMPTY happens here, under the lock that
 * the slab's word names. A free never waits for that lock: it leaves the slab on the lock's queue, and whoever holds
 * the lock looks at it before he lets go (a harvest). A slab found empty goes to the depot at once: recycling is
 * continuous.
 *
 * partial_evaluate acts on the slab's state alone, not on who calls or why: late and needless calls are harmless.
 *
 * The card of the protocol is docs/protocols/slab.md. Threads: any, inside a gate. */
#ifndef TSLAB_CORE_PARTIAL_H
#define TSLAB_CORE_PARTIAL_H

#include "core/epoch.h"

/* A line of its own: who allocates in one class does not wait for the line of who frees in another. */
struct partial_list {
    _Alignas(CACHE_LINE) struct lock lock;
    atomic_u32 head; /* the first slab of the list, 0 when there is none; changed under the lock */
    uint32_t tail;
    atomic_u32 length;
    uint32_t class; /* never changes */
};

_Static_assert(sizeof(struct partial_list) == CACHE_LINE, "a line each");

/* What all lists of a class have counted since ever. An epoch's lists count here too, so that reports need not look for
 * them: once a slab, or a queue, each of which costs several locked operations anyway. */
struct partial_counters {
    _Alignas(CACHE_LINE) atomic_u64 recycled; /* slabs that emptied and went to the depot */
    atomic_u64 released;                      /* objects that are alive no more, and were not freed (partial_discard) */
    atomic_u64 harvests;                      /* queues taken */
    atomic_u64 harvested;                     /* slabs on them */
    atomic_u64 queue_longest;
};

extern struct partial_counters partial_counters[CLASS_LIMIT];

/* Makes the lists of the process. Before there are slabs. */
void partial_lists_begin(void);

/* Makes sure that an epoch has lists for slabs; false: no memory. */
bool partial_lists_need(struct epoch *epoch);

/* Unlinks a partial slab and makes it the caller's; NULL when there is none. Takes the lock, and waits for it. */
struct run *partial_attach(struct partial_list *partial);

/* Ends the caller's hold of an attached slab: it becomes full, partial or empty by what it is. Waits for the lock. */
void partial_detach(struct run *slab);

/* For the purger of free pages. Looks at the first slab of the list: if at least min_bytes in it were freed since its
 * pages were last purged, it becomes the caller's; else it goes to the end of the list, and the result is NULL. */
struct run *partial_attach_unpurged(struct partial_list *partial, size_t min_bytes);

/* Looks at a slab whose state may have to follow its bits. Never waits. */
void partial_evaluate(struct run *slab);

/* Makes a slab EMPTY whose epoch is released: every object in it is dead, and nobody holds it or frees in it. */
void partial_discard(struct run *slab);

#endif
