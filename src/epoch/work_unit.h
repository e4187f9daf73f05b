/* Units of work: the program marks them, and the option epoch_policy decides which epoch they run in.
 *
 * Threads: each for itself. work_unit_rotate: any. */
#ifndef TSLAB_EPOCH_WORK_UNIT_H
#define TSLAB_EPOCH_WORK_UNIT_H

#include "epoch/scope.h"

int work_unit_begin(struct thread *thread, const char *label);
int work_unit_end(struct thread *thread);
void work_unit_rotate(void);

/* Tells that the thread has advanced an epoch. If that was the epoch of its unit, the unit goes on in the next one. */
void work_unit_advanced(struct thread *thread, uint64_t before, uint64_t value);

/* Closes the epoch of the units of a thread that ends, or that the child of a fork does not have. The thread is inside
 * of nothing any more. */
void work_unit_close(struct thread *closer, struct thread *thread);

#endif
