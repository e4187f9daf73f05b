/* The depot: empty runs of units, for slabs, chunks and large blocks.
 *
 * It is one run allocator that splits and merges, so that memory of one class serves any other. Of the runs that fit,
 * it hands out, in this order:
 *
 *   dirty    Their pages have old contents.
 *   clean    They are mapped, read as zero, and cost a fault for each page.
 *
 * When none fits, memory is mapped (growth.h). Only runs of the same kind merge.
 *
 * Owns, under its lock: kind, units, list and age links of the descriptors of empty runs, and the kind and units of
 * used ones.
 *
 * Invariants:
 *
 *   - The first and the last unit of each run name the run's first unit.
 *   - No two empty neighbours are of the same kind.
 *   - Clean runs are whole pages, which may have several units.
 *   - Dirty runs are on the age list, oldest first.
 *   - Long clean runs whose part of the side tables may have pages are on the list of runs with tables.
 *   - The units of all kinds add up to those of the arena without unit 0, gaps, and runs that were lost.
 *
 * Not here: when pages go back to the system (reclaim.h).
 *
 * Threads: any, inside a gate. No operation under the lock walks more than a few steps of a list, or makes a system
 * call about memory. */
#ifndef TSLAB_SPACE_DEPOT_H
#define TSLAB_SPACE_DEPOT_H

#include "space/free_runs.h"

/* Takes n units, the first at a multiple of align units (a power of two, counted in addresses). *clean: they read as
 * zero. Returns the first unit, or 0 when no run fits and the arena cannot grow. */
uint32_t depot_take(uint32_t n, uint32_t align, bool *clean);

/* The same, but without pages. 0: there is no such run, or a limit forbids it. */
uint32_t depot_take_fresh(uint32_t n, uint32_t align);

/* The same for a slab, which will be filled from one end to the other: a huge page may come with it (huge_pages.h).
 * Chunks and large blocks leave part of their pages untouched. */
uint32_t depot_take_to_fill(uint32_t n, bool *clean);

/* Puts back a run that was taken. Its tags are 0, and no thread uses it any more. A clean one is whole pages. */
void depot_put(uint32_t first, uint32_t n, bool clean);

/* Puts back some runs, all dirty, for one stay under the lock. */
enum { OLD_RUNS = HOT_RUNS };
struct old_runs {
    unsigned count;
    struct stretch run[OLD_RUNS];
};
void depot_put_old(const struct old_runs *old);

/* Grows a used run of n units to `wanted` where it is, if the units behind it are empty. *clean: the additional units
 * read as zero. */
bool depot_grow(uint32_t first, uint32_t n, uint32_t wanted, bool *clean);

/* Puts back the units of a used run beyond the first `keep`, dirty. */
void depot_trim(uint32_t first, uint32_t n, uint32_t keep);

/* Makes a used run a gap, because its addresses cannot be mapped. */
void depot_lose(uint32_t first, uint32_t n);

/* For a purger, which takes runs out, lets the system work on them without the lock, and puts them back.
 *
 * depot_take_oldest takes the dirty run that waits longest, if it has waited since before `before_ms` or if more than
 * `dirty_limit` units are dirty. It takes at most max_units of a longer run, to the end of a page, and the rest stays.
 * It returns the first unit or 0. *n receives the units.
 *
 * depot_put_purged puts back a purged run, which ends with a page: its whole pages are clean, a part of one at its
 * begin is dirty. */
uint32_t depot_take_oldest(uint64_t before_ms, size_t dirty_limit, uint32_t max_units, uint32_t *n);
void depot_put_purged(uint32_t first, uint32_t n);

/* depot_put_unpurged puts back a run that was not purged: it is dirty, and counts as young. depot_split_taken makes two
 * runs of one that was taken out, the first of `cut` units. */
void depot_put_unpurged(uint32_t first, uint32_t n);
void depot_split_taken(uint32_t first, uint32_t n, uint32_t cut);

/* depot_take_with_tables takes a clean run whose part of the side tables may still have pages. *n receives its units.
 * It returns the first unit, or 0 when there is none. depot_put_without_tables puts it back when the tables have no
 * pages. */
uint32_t depot_take_with_tables(uint32_t *n);
void depot_put_without_tables(uint32_t first, uint32_t n);

/* Whether a longer run might become available: by purging dirty runs, so that they merge with clean ones, or by a
 * purger that puts its run back, or has put one back since there had been `put_backs`. */
bool depot_could_merge(uint64_t put_backs);

#endif
