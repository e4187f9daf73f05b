/* The values of options taken apart: parts of a string of the environment, and numbers in them.
 *
 * Owns: nothing. A part points into the string that it was cut from. Threads: any. */
#ifndef TSLAB_CORE_PART_H
#define TSLAB_CORE_PART_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct part {
    const char *start;
    size_t length; /* no zero terminates it */
};

/* Cuts off the part of `rest` before the separator, and the separator. Without one, that is all of it. */
struct part part_cut(struct part *rest, char separator);

/* Parses a decimal number with an optional K, M, G or T (1,024 and its powers). False: it is none, or too large. */
bool part_number(struct part part, uint64_t *number);

#endif
