/* The depot: empty runs of units, dirty or clean, for whoever needs one: slabs, large blocks, later chunks.
 *
 * One run allocator that splits and merges, so that what one class gave back serves any other. Dirty runs (their pages
 * are there, with old contents) are handed out before clean ones (they read as zero, and cost a fault a page), and
 * clean ones before the arena grows. Only runs of the same kind merge.
 *
 * Owns, under its lock: kind, units, list and age links of the descriptors of empty runs, the kind of all others
 * (used), and the top of the arena. Invariants: the first and the last unit of every run know the first; no two empty
 * neighbours are of the same kind; clean runs are whole pages (which may have several units); dirty runs are on the age
 * list, oldest first.
 *
 * The depot decides nothing about when pages go back to the system: that is reclaim.h.
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_CORE_DEPOT_H
#define TSLAB_CORE_DEPOT_H

#include "base/lock.h"
#include "core/arena.h"

enum { DEPOT_BINS = 128 };

struct depot {
    struct lock lock;
    atomic_size_t dirty_units, clean_units, used_units; /* written under the lock, read by anyone */
    atomic_u64 oldest_ms;                               /* since when the oldest dirty run waits */
    size_t purging_units; /* of those that are used: what purgers have taken out and will put back */
    uint32_t age_head, age_tail;
    uint64_t occupied[2][DEPOT_BINS / 64]; /* dirty, clean: the bins that are not empty */
    uint32_t bins[2][DEPOT_BINS];
    atomic_u64 fresh_units; /* units handed out without pages, since ever: each page of them costs a fault */
};

extern struct depot depot;

/* Takes n units, the first aligned to a multiple of align units (a power of two). *clean: they read as zero. Returns
 * the first unit, 0 when there is none to be had. */
uint32_t depot_take(uint32_t n, uint32_t align, bool *clean);

/* Puts a run back that was taken: its tags are 0, and nobody uses it any more. A clean one is whole pages. */
void depot_put(uint32_t first, uint32_t n, bool clean);

/* Grows a used run of n units to `wanted` where it is, if the units behind it are empty. *clean: what came in addition
 * reads as zero. */
bool depot_grow(uint32_t first, uint32_t n, uint32_t wanted, bool *clean);

/* Puts back the units of a used run beyond the first `keep`, dirty. */
void depot_trim(uint32_t first, uint32_t n, uint32_t keep);

/* Takes the dirty run that waits longest, if it does so since before `before_ms` or if more than `dirty_limit` units
 * are dirty. Of a longer run at most max_units, to the end of a page; the rest stays. Returns the first unit or 0; *n
 * receives its units. For a purger, who puts it back: dirty, and young; or, where its whole pages, at least one, were
 * purged, with nothing dirty but the parts of pages at its ends. */
uint32_t depot_take_oldest(uint64_t before_ms, size_t dirty_limit, uint32_t max_units, uint32_t *n);
void depot_put_purged(uint32_t first, uint32_t n, bool purged);

/* Takes a clean run of at least min_units whose part of the side tables may still have pages, and puts it back without.
 * *n receives its units. Returns the first unit, 0 when there is none. */
uint32_t depot_take_unswept(uint32_t min_units, uint32_t *n);
void depot_put_swept(uint32_t first, uint32_t n);

/* Units that are empty, with those that purgers have just now: what there is for who waits for them. */
size_t depot_empty_units(void);

/* Hot runs: a few runs of large blocks that a heap's holder freed lately, for its next ones. Private to the holder, who
 * needs no lock and no gate: one store takes a run out and one store puts it in, so that a fork may cut anywhere. To
 * the depot they are used. */
enum { HOT_RUNS = TSLAB_SIM ? 2 : 8, HOT_RUN_UNITS = TSLAB_SIM ? 2 : 16, HOT_UNITS = TSLAB_SIM ? 3 : 32 };

struct hot_runs {
    atomic_u32 first[HOT_RUNS]; /* 0: the place is empty */
    uint32_t units[HOT_RUNS];
    atomic_u32 total; /* units in all of them; the holder writes, reports read */
    bool touched;     /* since the last look for idle ones */
};

/* A run of n units that was put there, or 0. */
uint32_t hot_take(struct hot_runs *hot, uint32_t n);

/* Keeps a run; false when it is too long, or there is no room. */
bool hot_put(struct hot_runs *hot, uint32_t first, uint32_t n);

/* Puts all into the depot. In the gate. */
void hot_flush(struct hot_runs *hot);

#endif
