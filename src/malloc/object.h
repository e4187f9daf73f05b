/* Objects of any size: which part of the engine serves a size and an alignment, and where a freed pointer belongs. The
 * fast path (fast.h) comes first. Everything else is here.
 *
 * Errors: NULL means no memory, or a size that is too large, and errno is ENOMEM. A pointer that is no object's ends
 * the program with a line on stderr. A free keeps errno. Threads: any. */
#ifndef TSLAB_MALLOC_OBJECT_H
#define TSLAB_MALLOC_OBJECT_H

#include "base/bits.h"

#include <stdbool.h>
#include <stddef.h>

struct epoch;
struct thread;

/* Checked builds: called when an object of size bytes is handed out at p, which may be NULL, and before it is freed.
 * object_begin_checked returns p. */
void *object_begin_checked(void *p, size_t size);
void object_end(void *p);

/* Checked libraries: called before an object is freed with its size (SIZE_MAX: not given) and alignment. Ends the
 * program when these are not what was asked for. */
void object_check_size(const void *p, size_t size, size_t alignment);

always_inline void *object_begin(void *p, size_t size)
{
    return TSLAB_CHECKED ? object_begin_checked(p, size) : p;
}

/* Serves plain malloc wherever it lands, in an epoch or in the process. `class` is the class of size and alignment,
 * CLASS_NONE for a large block. *zero receives whether the object reads as zero. It means nothing where NULL is
 * returned. */
void *object_alloc_ambient(size_t size, size_t alignment, unsigned class, bool *zero);

/* After an allocation failed: if the hard limit refused it, gives back all that counts there and is free. Returns
 * whether to try again. */
bool object_make_room(struct thread *thread);

/* Allocate outside of epochs, from the heap of the thread's record: a slot of the class, or a large block. */
void *object_alloc_slot(struct thread *thread, unsigned class);
void *object_alloc_large(struct thread *thread, size_t size, size_t alignment, bool *zero);

/* The slow sides of the fast path (fast.h). */
void *object_alloc_slow(size_t size);
void object_free_slow(void *p);

/* The bytes that the user of the object at p may touch. In the checked library, ends the program when its seal is
 * broken. */
size_t object_usable(const void *p);

/* The epoch that the object at p belongs to. If p is no object's, that of the process. */
struct epoch *object_epoch(const void *p);

/* Gives back what this thread caches and the pages of all empty memory. Returns the bytes given to the system. */
size_t object_trim(void);

/* The room at an address: the memory that the engine made available to the object there. The object is the caller's. */
struct object_memory {
    size_t bytes;        /* 0: no object lives there */
    bool zero_when_free; /* in the checked library, the memory is zero while it is free */
};

/* The room at p. Ends the program when p lies in a slab or a chunk and no object starts there. */
struct object_memory object_memory_at(const void *p);

/* The bytes that the user of the object at p may touch. *room receives its room. Ends the program when no object starts
 * at p. */
size_t object_memory_usable(const void *p, struct object_memory *room);

#endif
