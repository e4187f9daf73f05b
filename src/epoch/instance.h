/* Instances: an instance is an epoch that is the root of others, which end with it.
 *
 * Threads: any. The functions enter the gate themselves. */
#ifndef TSLAB_EPOCH_INSTANCE_H
#define TSLAB_EPOCH_INSTANCE_H

#include "thread/thread.h"

/* The root epoch of the instance with this value. NULL: there is no such instance. */
struct epoch *instance_root(uint64_t value);

/* As tslab_instance_close. report may be NULL. */
int instance_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

#endif
