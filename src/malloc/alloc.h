/* The ways to allocate other than the plain one (fast.h): zeroed, aligned, and resized.
 *
 * Errors: NULL means no memory, or a size that is too large, and errno is ENOMEM. A pointer that is no object's ends
 * the program with a line on stderr. Threads: any. */
#ifndef TSLAB_MALLOC_ALLOC_H
#define TSLAB_MALLOC_ALLOC_H

#include "base/build.h"

#include <stddef.h>

/* Writes zeros over the first bytes of an object that is about to be handed out. */
void alloc_clear(void *p, size_t size);

/* Allocates zeroed memory. Does not touch memory that is fresh from the system. */
void *alloc_zero(size_t size);

/* Allocates at a multiple of alignment, a power of two. */
void *alloc_aligned(size_t size, size_t alignment);

/* Gives the object at p a new size, above 0, here or elsewhere. On failure the object is as it was. */
void *alloc_resized(void *p, size_t size);

#endif
