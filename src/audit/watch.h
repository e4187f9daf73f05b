/* When the walks of verify.h run by themselves: in checked builds, now and then, and at moments when nothing moves. In
 * other builds nothing calls these functions.
 *
 * Threads: any, each for itself. */
#ifndef TSLAB_AUDIT_WATCH_H
#define TSLAB_AUDIT_WATCH_H

#include "audit/verify.h"

/* verify_whole when this thread alone has a record, and none can get one meanwhile; unless, at the end of the program,
 * a signal has cut the thread in a slow operation. No gate. */
void verify_if_alone(struct thread *self);

/* At a fork, when the gates of all others are held, or nobody else is there: what is shared, unless a signal has cut
 * the forking thread in the middle of something. It held locks of such ranks then, or ends the program. */
void verify_at_fork(struct thread *self, uint32_t ranks, uint32_t dying);

/* A fork has cut off so many threads, each perhaps in an operation. */
void verify_cut(size_t threads);

/* The end of a slow operation: every so often the thread's own heaps and cursors, and more rarely the depot. No gate.
 */
void verify_often(struct thread *self);

#endif
