/* Runs, as the depot keeps them: each is marked in the side tables, and each empty one is linked by its kind, its
 * length and its age.
 *
 * A row is what neighbouring empty runs of different kinds are together. Long blocks come out of rows where no single
 * run is long enough, and grow into them: their pages serve again before others are faulted in.
 *
 * Owns and keeps: what the card of depot.h says. Threads: under the depot's lock. No operation walks more than a few
 * steps of a list. */
#ifndef TSLAB_SPACE_FREE_RUNS_H
#define TSLAB_SPACE_FREE_RUNS_H

#include "os/lock.h"
#include "space/huge_pages.h"
#include "space/recent_use.h"

enum {
    RUN_TABLES_UNITS_MIN = 64, /* a MiB: shorter runs are not worth the calls for their part of the side tables */
};

struct run_list {
    uint32_t head, tail;
};

enum { BINS = 192 /* whole words of `occupied` */, RUN_KINDS = RUN_CLEAN + 1 };

/* Empty runs by kind and length: a bin for each length up to 32 units, then four for each doubling. A bit of `occupied`
 * is set exactly where the bin's head is not 0. */
struct bins {
    uint64_t occupied[RUN_KINDS - 1][BINS / 64]; /* the bins that are not empty */
    uint32_t heads[RUN_KINDS - 1][BINS];         /* the first run of each bin. Runs are linked by next and prev */
};

struct depot {
    _Alignas(CACHE_LINE) struct lock lock;
    /* Written under the lock, read by any thread. Threads that wait for the lock do not touch this line. */
    _Alignas(CACHE_LINE) atomic_size_t units[RUN_KINDS];
    atomic_u64 oldest_ms;        /* the time since which the oldest dirty run waits; UINT64_MAX: there is none */
    atomic_u64 fresh_units;      /* total units handed out without pages: each of their pages costs a fault */
    atomic_size_t short_units;   /* used units in runs of at most HUGE_RUN_UNITS */
    atomic_size_t purging_units; /* used units that purgers have taken out and will put back */
    /* Under the lock. */
    struct run_list aged; /* dirty runs, oldest first */
    struct run_list with_tables;
    struct recent_use use;
    struct bins bins;
};

extern struct depot depot;

/* Use that the kinds of runs do not tell. Any thread writes the first two, which are about slabs of the process. */
struct depot_usage {
    _Alignas(CACHE_LINE) atomic_size_t slot_bytes; /* the bytes of all slots, */
    atomic_size_t out_bytes;   /* and of those that are not in their slab. Heaps count late (heap.h) */
    atomic_size_t noted_units; /* the units in use when depot.use noted them last. Written under the lock */
    atomic_size_t lost_units;  /* units that cannot be mapped again. Likewise */
    atomic_u64 put_backs;      /* total runs that purgers put back. Likewise */
    atomic_u64 emptied_units;  /* total units that became empty, with their pages. Written under the lock */
    atomic_size_t gone_pages;  /* of all runs in use. Any thread writes it */
};
extern struct depot_usage depot_usage;

/* Runs purged lately. Written under the lock. */
struct purged_lately {
    size_t units;                 /* not wanted again so far */
    uint64_t purged_ms;           /* when the last of them was purged */
    atomic_size_t mistaken_units; /* the total units that were purged and wanted again within a second */
};
extern struct purged_lately purged_lately;

/* tables_gone of a clean run, in place of a time. A run that merges with one whose tables are there has them, too. */
enum { TABLES_THERE = 0, TABLES_GONE = 1 };

/* The bin that a run of n units waits in, and the first run in a bin; 0: none. */
unsigned bin_of(uint32_t n);

always_inline uint32_t bin_first(unsigned kind, unsigned bin)
{
    return depot.bins.heads[kind - 1][bin];
}

/* Whether the bit of a bin is set. */
always_inline bool bin_has(unsigned kind, unsigned bin)
{
    return (depot.bins.occupied[kind - 1][bin / 64] >> (bin % 64) & 1) != 0;
}

/* Takes and releases the depot's lock. Checked builds count the steps between. */
void depot_lock(void);
void depot_unlock(void);

/* Slots may seem to be back before they were out. */
static inline size_t depot_out_bytes(void)
{
    const size_t out = load_relaxed(&depot_usage.out_bytes);
    return out <= PTRDIFF_MAX ? out : 0;
}

/* The free slots in slabs of the process, in units. */
size_t depot_free_slot_units(void);

/* The units in use: those of used runs, without what purgers have taken out and without free slots in slabs. */
size_t depot_in_use(void);

/* Notes how many units are in use, without those that purgers have taken out. Under the lock. */
void depot_note_use(uint64_t now_ms);

/* Writes n units from `first` on into the side tables as one run of the kind, and takes such a run out of the accounts.
 */
void run_mark(uint32_t first, uint32_t n, unsigned kind);
void run_unmark(uint32_t first);

/* Unlinks an empty run, and takes it out of the accounts. */
void run_unlink(uint32_t first);

/* Makes n units that are in no account a gap for good: they cannot be mapped again, and nothing merges with them. */
void run_lose(uint32_t first, uint32_t n);

/* The first of n units in an empty run whose address is a multiple of align units. 0 when the run has none. */
uint32_t run_place(uint32_t run, uint32_t n, uint32_t align);

/* A run of the kind that has n aligned units. It stays linked. 0 when there is none. */
uint32_t run_find(unsigned kind, uint32_t n, uint32_t align);

/* Counts units that are taken and have no pages. Returns how many of them were purged by mistake, that is, less than a
 * second ago. */
uint32_t run_count_fresh(uint32_t units);

/* Counts units that were just purged. */
void run_count_purged(uint32_t units, uint64_t now_ms);

/* The run that starts at `behind`, or that ends before `first`, if it is of the kind. Else 0. A gap has no runs. */
uint32_t run_behind(uint32_t behind, unsigned kind);
uint32_t run_before(uint32_t first, unsigned kind);

/* Links an empty run, merged with its empty neighbours of the same kind. The result is as young as its youngest part.
 * Returns its first unit. */
uint32_t run_join(uint32_t first, uint32_t n, unsigned kind, uint64_t since_ms);

/* Leaves the units from first to end empty, linked behind another run of their list, or for AT_END at its end. They are
 * the rest of an empty run that was cut, and keep its place on its list. Where the run had no pages, the part of a page
 * that the used units touch is dirty. */
enum { AT_END = UINT32_MAX };
void run_rest(uint32_t first, uint32_t end, unsigned kind, uint64_t since_ms, uint32_t behind);

/* Cuts n aligned units out of an empty run that has them, and leaves the rest empty. Returns the first of them. */
uint32_t run_cut(uint32_t run, uint32_t n, uint32_t align);

/* The units that empty runs have in a row from the unit `first` on, if one starts there: as far as n needs them. */
uint32_t row_behind(uint32_t first, uint32_t n);

/* Takes n units of a row, from `first` on, which starts a run. Returns how many of them have no pages. */
uint32_t row_cut(uint32_t first, uint32_t n);

/* The first of n units of a row of which about half or more is one dirty run. 0: there is no such row among the few
 * that it looks at. */
uint32_t row_find(uint32_t n);

/* How many of n units of a row, from `first` on, have no pages. */
uint32_t row_fresh(uint32_t first, uint32_t n);

#endif
