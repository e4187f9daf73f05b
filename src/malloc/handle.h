/* Objects with handles: allocated in an epoch like any other, and entered in the epoch's table (handle_table.h).
 *
 * Threads: any. handle_alloc enters the gate itself. */
#ifndef TSLAB_MALLOC_HANDLE_H
#define TSLAB_MALLOC_HANDLE_H

#include "thread/thread.h"

/* Allocates an object in the epoch with this value. Returns its handle, and the object in *object. 0: *status says why.
 */
uint64_t handle_alloc(struct thread *thread, uint64_t epoch, size_t size, void **object, int *status);

/* The object that a handle of the epoch names. NULL: there is none. */
void *handle_get(uint64_t epoch, uint64_t handle);

/* Frees the object that a handle of the epoch names. False: there is none. */
bool handle_free(uint64_t epoch, uint64_t handle);

#endif
