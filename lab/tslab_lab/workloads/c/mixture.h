// Sizes as applications ask for them: four of five small, a few large. Of the large ones every page is written and
// checked, so that all of them is in memory.

#ifndef MIXTURE_H
#define MIXTURE_H

#include "pattern.h"

enum { MIXTURE_PAGE = 4096 };

static inline uint32_t mixture_size(actor *a)
{
    uint64_t random = random_next(a);
    uint32_t percent = high_below(random, 100);
    if (percent < 80) {
        return low_between(random, 16, 256);
    }
    return percent < 95 ? low_between(random, 257, 2048) : low_between(random, 2049, 32768);
}

// What the pages but the first begin with follows from the size; the marks are at both ends.
static inline void *mixture_make(actor *a)
{
    uint32_t size = mixture_size(a);
    unsigned char *object = object_make(a, size);
    for (uint32_t at = MIXTURE_PAGE; at + 2 * sizeof(uint64_t) <= size; at += MIXTURE_PAGE) {
        uint64_t word = tail_of(size + at);
        memcpy(object + at, &word, sizeof word);
    }
    return object;
}

static inline void mixture_drop(actor *a, void *object)
{
    uint32_t size = object_check(a, object);
    for (uint32_t at = MIXTURE_PAGE; at + 2 * sizeof(uint64_t) <= size; at += MIXTURE_PAGE) {
        uint64_t word;
        memcpy(&word, (unsigned char *)object + at, sizeof word);
        if (word != tail_of(size + at)) {
            fail("an object was damaged while it was alive");
        }
    }
    timed_free(a, object);
}

#endif
