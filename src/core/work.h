/* Units of work: the program marks them, the option epoch_policy decides which epoch they run in.
 *
 * Threads: each for itself; work_rotate from anywhere. */
#ifndef TSLAB_CORE_WORK_H
#define TSLAB_CORE_WORK_H

#include "core/scope.h"

int work_begin(struct thread *thread, const char *label);
int work_end(struct thread *thread);
void work_rotate(void);

/* The thread has advanced an epoch: if it is that of its unit, the unit goes on in the next one. */
void work_advanced(struct thread *thread, uint64_t before, uint64_t value);

/* Closes the epoch of a thread that ends, or that the child of a fork does not have; it is not inside any more. */
void work_close(struct thread *closer, struct thread *thread);

#endif
