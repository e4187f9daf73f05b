/* Handles: 64 bits that name an object and are checked at each use.
 *
 * A handle consists of the first unit of a slab (30 bits), a slot in it (8 bits), and the generation of that place (26
 * bits). The generation is stored out of line, in the codes of the slot (generation.h). No two handles are ever equal:
 * no slot or slab that is used again revives an old handle, and a place whose generations are used up is not lent
 * again. A free is one compare-and-swap of the codes.
 *
 * The objects live in slabs of a hidden epoch that serves the user's epoch, pins it, and is closed with it. The tags of
 * these slabs say that their objects have handles: a plain free of one ends the program.
 *
 * Invariants: the hold of the hidden epoch that a scope keeps is the thread's.
 *
 * Threads: any. The functions enter the gate themselves. */
#ifndef TSLAB_MALLOC_HANDLE_H
#define TSLAB_MALLOC_HANDLE_H

#include "epoch/scope.h"

/* Allocates an object in the epoch with this value. Returns its handle, and the object in *object. 0: *status says why.
 * Size is at most HANDLE_MOST. */
uint64_t handle_alloc(struct thread *thread, uint64_t epoch, size_t size, void **object, int *status);

/* The object that a handle of the epoch names. NULL: there is none. Needs no record of a thread. */
void *handle_get(uint64_t epoch, uint64_t handle);

/* Frees the object that a handle of the epoch names. False: there is none. */
bool handle_free(struct thread *thread, uint64_t epoch, uint64_t handle);

#endif
