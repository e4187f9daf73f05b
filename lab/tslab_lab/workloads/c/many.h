// Very many threads with small stacks, and many sizes.

#ifndef MANY_H
#define MANY_H

#include "pattern.h"

#include <limits.h>

enum { STACK_BYTES = 256 << 10 };

// From 16 bytes on, four to each doubling.
static inline uint32_t many_size(unsigned i)
{
    uint32_t base = UINT32_C(16) << i / 4;
    return base + base / 4 * (i % 4);
}

static inline void many_start(actor *actors, unsigned count, void *(*work)(void *))
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&actors[i].thread, &small, work, &actors[i]) != 0) {
            fail("cannot start so many threads");
        }
    }
    pthread_attr_destroy(&small);
}

#endif
