/* Trapped runs: memory of released epochs whose policy is TRAP. It has no pages and no access, so that a late touch of
 * it faults, until so many further runs were trapped, or so much of the arena's addresses. In the checked library also
 * memory of large blocks that were freed, and of all released epochs (guard.h).
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_CORE_TRAP_H
#define TSLAB_CORE_TRAP_H

#include "base/atomic.h"
#include "core/guard.h"

/* What a trapped run leaves behind in the side tables are pages: the checked library traps more runs, and larger ones.
 */
enum { TRAP_RUNS = TSLAB_SIM ? 2 : GUARDED ? 1024 : 4096 };

/* Units of all trapped runs. */
extern atomic_size_t trap_units;

/* Takes over a used run without tags: traps it, and gives the run that was trapped longest to the depot when there are
 * too many. Where the kernel refuses the one or the other, the run itself goes to the depot. */
void trap_run(uint32_t first, uint32_t units);

#endif
