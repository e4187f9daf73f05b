/* Handles: 64 bits that name an object and are checked.
 *
 * A handle is the first unit of a slab (30 bits), a slot in it (8 bits), and the generation of that place (26 bits),
 * which stands out of line, in the codes of the slot (generation.h). No two handles are ever equal: neither a slot nor
 * a slab that is used again revives an old one, and a place whose generations are used up is not lent again. To free is
 * one compare-and-swap of the codes.
 *
 * The objects live in slabs of an epoch of their own, that serves the user's epoch, is pinned and closed with it, and
 * whose tags say that their objects have handles: a plain free of one ends the program.
 *
 * Threads: any. Gates are entered inside. */
#ifndef TSLAB_CORE_HANDLE_H
#define TSLAB_CORE_HANDLE_H

#include "core/scope.h"

/* A handle, and *object, in an epoch by value; 0 with *status. Size is at most SMALL_MAX. */
uint64_t handle_alloc(struct thread *thread, uint64_t epoch, size_t size, void **object, int *status);

/* The object that a handle of the epoch names, or NULL. Needs no thread. */
void *handle_get(uint64_t epoch, uint64_t handle);

/* Frees it; false when there is none. */
bool handle_free(struct thread *thread, uint64_t epoch, uint64_t handle);

#endif
