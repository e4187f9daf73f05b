/* The room at an address: the memory that the engine made available to the object there.
 *
 * Threads: any; the object is the caller's. */
#ifndef TSLAB_MALLOC_MEMORY_AT_H
#define TSLAB_MALLOC_MEMORY_AT_H

#include "space/arena.h"

struct object_memory {
    size_t bytes;        /* 0: no object lives there */
    bool sealed;         /* in the checked library, the object has a seal; objects with handles have none */
    bool zero_when_free; /* in the checked library, the memory is zero while it is free */
};

/* The room at p. Ends the program when p lies in a slab or a chunk and no object starts there. */
struct object_memory object_memory_at(const void *p);

/* The bytes that the user of the object at p may touch. *room receives its room. Ends the program when no object starts
 * at p. */
size_t object_memory_usable(const void *p, struct object_memory *room);

/* Ends the program when the seal of the object at p is broken (in the checked library). */
void object_memory_check_seal(const void *p);

/* The class of the slot that p lies in. CLASS_NONE: p is not in a slab. */
always_inline unsigned object_memory_class(const void *p)
{
    return tag_class(arena_tag(p));
}

#endif
