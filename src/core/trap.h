/* Trapped runs: memory of released epochs whose policy is TRAP. It has no pages and no access, so that a late touch of
 * it faults, until so many further runs were trapped, or so much of the arena's addresses. In the checked library also
 * memory of large blocks that were freed, and of all released epochs (guard.h).
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_CORE_TRAP_H
#define TSLAB_CORE_TRAP_H

#include "base/atomic.h"
#include "base/limits.h"
#include "core/guard.h"

#include <stdbool.h>

/* What a trapped run leaves behind in the side tables are pages: the checked library traps more runs, and larger ones.
 */
enum { TRAP_RUNS = GUARDED ? TRAPPED_RUNS_CHECKED : TRAPPED_RUNS };

/* Units of all trapped runs. */
extern atomic_size_t trap_units;

/* Guard pages behind large runs (large.c) are counted: each splits a mapping in two, and of the mappings that a process
 * may have (65,530, unless vm.max_map_count says otherwise) the program needs its share. True: there may be one more.
 * Down: the run has none any more, if it had one. */
enum { GUARDS_MOST = 8192 };
bool guard_count_up(void);
void guard_count_down(uint32_t first);

/* Takes over a used run without tags: traps it, and gives the run that was trapped longest to the depot when there are
 * too many. Where the kernel refuses the one or the other, the run itself goes to the depot. */
void trap_run(uint32_t first, uint32_t units);

#endif
