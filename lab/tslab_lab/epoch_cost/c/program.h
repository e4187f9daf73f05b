// What the programs that measure epochs share: failing, arguments, random sizes. Only what needs epochs needs tslab.

#ifndef PROGRAM_H
#define PROGRAM_H

#include "use_epochs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_KIB = 4 };

static const char *program_name;

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_name, what);
    abort();
}

// The second of the two words of the command line. The first is the way to do it.
static inline uint64_t amount_of(int count, char **words)
{
    program_name = words[0];
    if (count != 3) {
        fail("wants a way and an amount");
    }
    return strtoull(words[2], NULL, 10);
}

static inline uint32_t random_between(uint64_t *state, uint32_t least, uint32_t most)
{
    return least + high_below(random_step(state), most - least + 1);
}

#endif
