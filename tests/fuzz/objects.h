/* The oracle's record of the objects that live. Each is filled with a pattern of its own, and a map of all addresses, a
 * bit for every 16 bytes, sees any overlap. Nothing here allocates by malloc, which may be what is tested. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tslab/tslab.h>

enum { OBJECTS_MOST = 6000 };

struct model;

struct object {
    char *start;
    size_t asked;        /* by the user */
    size_t usable;       /* said by the allocator */
    size_t alignment;    /* asked for; at least 1 */
    uint64_t seed;       /* of the pattern */
    struct model *owner; /* the epoch; NULL: the process */
    tslab_handle handle; /* {0}: none */
};

struct objects {
    struct object all[OBJECTS_MOST]; /* in no order */
    size_t count;
    size_t bytes; /* usable ones */
    uint64_t next_seed;
};
extern struct objects objects;

/* A new object at p: checks it, fills it and keeps it. */
struct object *object_born(void *p, size_t asked, size_t alignment);

/* Checks the contents of an object that is about to be freed, and forgets it: another may have its place now. */
void object_dies(struct object *object);

/* The same of one that is gone already. */
void object_is_lost(struct object *object);

/* An object was reallocated to p with `asked` bytes: what it held is still there, as far as both sizes go. */
void object_moved(struct object *object, void *p, size_t asked);

/* Whether an object has the 16 bytes at p. */
bool object_lives_at(const char *p);

/* Memory is free now (scribble.c). Overwrites all that became so since the last call. */
void scribble_note(char *start, size_t bytes);
void scribble_all(void);

/* Checks the contents of an object, or of all. */
void object_check(const struct object *object);
void objects_check(void);

/* Whether memory reads as zero (sampled, beyond a page). */
bool is_zero(const void *p, size_t size);

#endif
