/* The depot: empty runs of units, for whoever needs one: slabs, chunks, large blocks.
 *
 * One run allocator that splits and merges, so that what one class gave back serves any other. Of the runs that fit it
 * hands out, in this order:
 *
 *   stuck    their pages are there, with old contents, and the system refused to take them back
 *   dirty    the same, and nobody has asked the system yet
 *   clean    mapped; they read as zero and cost a fault a page
 *   absent   their addresses were given back, too: they are mapped anew
 *
 * and when none fits, the arena grows, by clean runs. Only runs of the same kind merge.
 *
 * Owns, under its lock: kind, units, list and age links of the descriptors of empty runs, the kind of all others
 * (used), and the growth of the arena. Invariants: the first and the last unit of every run know the first; no two
 * empty neighbours are of the same kind; clean and absent runs are whole pages (which may have several units); dirty
 * runs are on the age list, oldest first; long clean runs whose part of the side tables may have pages are on the list
 * of those to be swept; the units of all kinds are those of the arena, but for unit 0, gaps, and absent runs that were
 * lost to somebody else.
 *
 * The depot decides nothing about when pages or addresses go back to the system: that is reclaim.h.
 *
 * Threads: any, inside a gate. No operation under the lock walks a list of runs but for a few steps. */
#ifndef TSLAB_CORE_DEPOT_H
#define TSLAB_CORE_DEPOT_H

#include "core/bins.h"
#include "os/lock.h"

enum {
    RUN_SWEEP_UNITS_MIN = 64 /* a MiB: shorter runs are not worth the calls for their part of the side tables */
};

struct run_list {
    uint32_t head, tail;
};

struct depot {
    _Alignas(CACHE_LINE) struct lock lock;
    /* Written under the lock, read by anyone, in a line that those who wait for the lock leave alone. */
    _Alignas(CACHE_LINE) atomic_size_t units[RUN_KINDS];
    atomic_u64 oldest_ms;        /* since when the oldest dirty run waits */
    atomic_u64 fresh_units;      /* units handed out without pages, since ever: each page of them costs a fault */
    atomic_size_t lost_units;    /* of absent runs that somebody else has by now */
    atomic_size_t purging_units; /* of those that are used: what purgers have taken out and will put back */
    atomic_u64 put_backs;        /* times that they did, since ever */
    /* Under the lock. */
    _Alignas(CACHE_LINE) struct run_list aged; /* dirty runs, oldest first */
    struct run_list unswept;
    struct bins bins;
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

/* For a purger, who takes runs out, lets the system work on them without the lock, and puts them back.
 *
 * depot_take_oldest takes the dirty run that waits longest, if it does so since before `before_ms` or if more than
 * `dirty_limit` units are dirty. Of a longer run at most max_units, to the end of a page; the rest stays. Returns the
 * first unit or 0; *n receives its units. depot_put_purged puts back what was purged: whole pages of it are clean, the
 * parts of pages at its ends are dirty. depot_put_refused puts back what the system refused: it is stuck.
 * depot_unstick makes a run that is stuck dirty again; false: there is none. */
uint32_t depot_take_oldest(uint64_t before_ms, size_t dirty_limit, uint32_t max_units, uint32_t *n);
void depot_put_purged(uint32_t first, uint32_t n);
void depot_put_refused(uint32_t first, uint32_t n);
bool depot_unstick(void);

/* The same with what was not touched after all: as dirty as it was, and young; and for parts of a run that was taken
 * out as one. */
void depot_put_unpurged(uint32_t first, uint32_t n);
void depot_split_taken(uint32_t first, uint32_t n, uint32_t cut);

/* Takes a clean run whose part of the side tables may still have pages, and puts it back without, mapped or absent. *n
 * receives its units. Returns the first unit, 0 when there is none. */
uint32_t depot_take_unswept(uint32_t *n);
void depot_put_swept(uint32_t first, uint32_t n, bool absent);

/* Whether more might be had in a row if what is dirty were purged, and merged with what is clean, or if a purger put
 * back what it has. */
bool depot_could_merge(void);

#endif
