/* The values of options taken apart: parts of a string of the environment, and numbers in them.
 *
 * Owns: nothing. A part points into the string that it was cut from. Threads: any. */
#ifndef TSLAB_COMMON_SLICE_H
#define TSLAB_COMMON_SLICE_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice {
    const char *start;
    size_t length; /* no zero terminates it */
};

/* Cuts off the part of `rest` before the separator, and the separator. Without one, that is all of it. */
struct slice slice_cut(struct slice *rest, char separator);

/* Parses a decimal number with an optional K, M, G or T (1,024 and its powers). False: it is none, or too large. */
bool slice_number(struct slice part, uint64_t *number);

#endif
