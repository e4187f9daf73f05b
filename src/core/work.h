/* Units of work: the program marks them, and the option epoch_policy decides which epoch they run in.
 *

 * Threads: each for itself. work_rotate: any. */
#ifndef TSLAB_CORE_WORK_H
#define TSLAB_CORE_WORK_H

#include "core/scope.h"

int work_begin(struct thread *thread, const char *label);
int work_end(struct thread *thread);
void work_rotate(void);

/* Tells that the thread has advanced an epoch. If that was the epoch of its unit, the unit goes on in the next one. */
void work_advanced(struct thread *thread, uint64_t before, uint64_t value);

/* Closes the epoch of the units of a thread that ends, or that the child of a fork does not have. The thread is inside
 * of nothing any more. */
void work_close(struct thread *closer, struct thread *thread);

#endif
