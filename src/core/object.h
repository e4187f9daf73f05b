/* Objects of any size: what every face of the library calls. Sizes, alignments, and which part of the engine serves
 * them.
 *
 * Errors: NULL means no memory (or a size that cannot be), and errno is ENOMEM then. A pointer that is no object's
 * ends the program with a line on stderr. Threads: any. */
#ifndef TSLAB_CORE_OBJECT_H
#define TSLAB_CORE_OBJECT_H

#include "base/bits.h"

#include <stdbool.h>
#include <stddef.h>

struct epoch;

/* What checked builds do when an object of size bytes is handed out at p (or NULL), and before it is freed; p is
 * returned. */
void *object_begin_checked(void *p, size_t size);
void object_end(void *p);

/* What the checked libraries do before an object is freed with its size (SIZE_MAX: not said) and alignment: ends the
 * program when these are not what was asked for. */
void object_check_size(const void *p, size_t size, size_t alignment);

always_inline void *object_begin(void *p, size_t size)
{
    return TSLAB_CHECKED ? object_begin_checked(p, size) : p;
}

/* What the fast path (fast.h) does not do itself. */
void *object_alloc_slow(size_t size);
void object_free_slow(void *p);

/* Zeroed; memory that is fresh from the system is not touched. */
void *object_alloc_zero(size_t size);

/* alignment is a power of two. */
void *object_alloc_aligned(size_t size, size_t alignment);

/* p is an object, size above 0. On failure p is as it was. */
void *object_resize(void *p, size_t size);

/* The bytes that the user of p may touch; p is an object. */
size_t object_usable(const void *p);

/* The epoch that the object at p belongs to; that of the process also when p is no object's. */
struct epoch *object_epoch(const void *p);

/* Looks, when the program ends, for misuse that nothing has come by: double frees and interior pointers among what this
 * thread caches; in the checked libraries, writes beyond the end of objects that were never freed. */
void object_verify(void);

/* Gives back what this thread caches and the pages of all empty memory. Returns the bytes given to the system. */
size_t object_trim(void);

#endif
