/* Objects of any size: which part of the engine serves a size and an alignment, and where a pointer that is freed
 * belongs. The fast path (fast.h) comes first; what it does not do is here.
 *
 * Errors: NULL means no memory (or a size that cannot be), and errno is ENOMEM then. A pointer that is no object's
 * ends the program with a line on stderr. Threads: any. */
#ifndef TSLAB_CORE_OBJECT_H
#define TSLAB_CORE_OBJECT_H

#include "base/bits.h"

#include <stdbool.h>
#include <stddef.h>

struct epoch;
struct thread;

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

/* Serves plain malloc wherever it lands: an epoch, or the process. `class` is that of the size and alignment,
 * CLASS_NONE for a large block. *zero: it reads as zero. */
void *object_alloc_ambient(size_t size, size_t alignment, unsigned class, bool *zero);

/* Allocates outside of epochs: a slot of the class, or a large block. */
void *object_alloc_slot(struct thread *thread, unsigned class);
void *object_alloc_large(struct thread *thread, size_t size, size_t alignment, bool *zero);

/* What the fast path (fast.h) does not do itself. */
void *object_alloc_slow(size_t size);
void object_free_slow(void *p);

/* The bytes that the user of p may touch; p is an object. */
size_t object_usable(const void *p);

/* The epoch that the object at p belongs to; that of the process also when p is no object's. */
struct epoch *object_epoch(const void *p);

/* Gives back what this thread caches and the pages of all empty memory. Returns the bytes given to the system. */
size_t object_trim(void);

#endif
