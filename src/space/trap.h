/* Trapped runs: memory of released epochs whose policy is TRAP. It has no pages and no access, so that a late access to
 * it faults. That ends when TRAP_RUNS more runs were trapped, or when a share of the arena's addresses is trapped. The
 * checked library also traps the memory of freed large blocks, and of all released epochs (guard.h).
 *
 * Invariants: a trapped run is RUN_USED to the depot, and has no tags.
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_SPACE_TRAP_H
#define TSLAB_SPACE_TRAP_H

#include "base/atomic.h"
#include "base/limits.h"
#include "common/guard.h"

#include <stdbool.h>

/* The most runs that are trapped at once. Each keeps pages of the side tables. The checked library traps larger runs,
 * and so fewer. */
enum { TRAP_RUNS = GUARDED ? TRAPPED_RUNS_CHECKED : TRAPPED_RUNS };

/* The units of all trapped runs. */
extern atomic_size_t trap_units;

/* Guard pages behind large runs (large.c) are counted. Each splits a mapping in two, and the program needs its share of
 * the mappings that a process may have (65,530, unless vm.max_map_count differs). guard_count_up returns true, and
 * counts, when there may be one more. guard_count_down notes that the run has no guard any more, if it had one. */
enum { GUARDS_MOST = 8192 };
bool guard_count_up(void);
void guard_count_down(uint32_t first);

/* Takes over a used run without tags, and traps it. When there are too many, the run that was trapped longest goes to
 * the depot. Where the kernel refuses to trap the one or to open the other, the new run itself goes to the depot. */
void trap_run(uint32_t first, uint32_t units);

#endif
