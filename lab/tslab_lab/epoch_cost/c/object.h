// Objects that are written from end to end and checked when they die. They hold the lists that they are on, so that
// nothing else needs memory for them.

#ifndef OBJECT_H
#define OBJECT_H

#include "program.h"

struct object {
    struct object *next;
    uint32_t size;
    uint32_t mark;
    unsigned char bytes[];
};

enum { OBJECT_LEAST = sizeof(struct object) };

static inline struct object *object_fill(void *place, uint32_t size, uint32_t mark)
{
    struct object *const object = place;
    if (object == NULL) {
        fail("malloc returned NULL");
    }
    *object = (struct object){ NULL, size, mark };
    memset(object->bytes, (int)(mark & 255), size - sizeof *object);
    return object;
}

static inline void object_check(const struct object *object, uint32_t size, uint32_t mark)
{
    bool good = object->size == size && object->mark == mark;
    for (uint32_t i = 0; good && i < size - sizeof *object; i++) {
        good = object->bytes[i] == (mark & 255);
    }
    if (!good) {
        fail("an object was damaged while it was alive");
    }
}

#endif
