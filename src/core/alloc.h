/* The ways to allocate beside the plain one (fast.h): zeroed, aligned, and to another size.
 *
 * Errors: NULL means no memory (or a size that cannot be), and errno is ENOMEM then. A pointer that is no object's ends
 * the program with a line on stderr. Threads: any. */
#ifndef TSLAB_CORE_ALLOC_H
#define TSLAB_CORE_ALLOC_H

#include <stddef.h>

/* Zeroed; memory that is fresh from the system is not touched. */
void *alloc_zero(size_t size);

/* alignment is a power of two. */
void *alloc_aligned(size_t size, size_t alignment);

/* p is an object, size above 0. On failure p is as it was. */
void *alloc_resized(void *p, size_t size);

#endif
