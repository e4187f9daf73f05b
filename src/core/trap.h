/* Trapped runs: memory of released epochs whose policy is TRAP. It has no pages and no access, so that a late touch of
 * it faults, until so many further runs were trapped, or so much of the arena's addresses.
 *
 * Threads: any, inside a gate. */
#ifndef TSLAB_CORE_TRAP_H
#define TSLAB_CORE_TRAP_H

#include "base/atomic.h"

enum { TRAP_RUNS = TSLAB_SIM ? 2 : 4096 };

/* Units of all trapped runs. */
extern atomic_size_t trap_units;

/* Takes over a used run without tags: traps it, and gives the run that was trapped longest to the depot when there are
 * too many. Where the kernel refuses the one or the other, the run itself goes to the depot. */
void trap_run(uint32_t first, uint32_t units);

#endif
