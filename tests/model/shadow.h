/* What a test knows of the objects that live: an oracle beside the allocator. Every object is filled with a pattern of
 * its own over all the bytes that the allocator says are usable, and an ordered map of their ranges sees any overlap.
 */
#ifndef SHADOW_H
#define SHADOW_H

#include "check.h"

#include <stdbool.h>

struct object {
    char *start;
    size_t asked;  /* by the user */
    size_t usable; /* said by the allocator */
    uint64_t seed; /* of the pattern */
};

struct shadow {
    struct object **objects; /* all that live, in no order */
    size_t count, capacity;
    size_t bytes; /* usable ones */
    void *ranges; /* the ordered map */
    uint64_t next_seed;
};

/* A new object at p, of which `asked` bytes were asked for: checks it, fills it and keeps it. */
void shadow_born(struct shadow *shadow, void *p, size_t asked, size_t alignment);

/* Checks the contents of the i-th object and forgets it: it is about to be freed. Returns where it starts. */
void *shadow_dies(struct shadow *shadow, size_t i);

/* The i-th object was reallocated to p with `asked` bytes: what it held is still there, as far as both sizes go. */
void shadow_moved(struct shadow *shadow, size_t i, void *p, size_t asked);

/* Checks the contents of all objects. */
void shadow_check(const struct shadow *shadow);

#endif
