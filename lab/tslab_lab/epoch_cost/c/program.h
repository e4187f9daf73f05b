// What the programs that measure epochs share: failing, arguments, random sizes. Only what needs epochs needs tslab.

#ifndef PROGRAM_H
#define PROGRAM_H

#include "use_epochs.h"

#include <errno.h>
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

_Noreturn static inline void usage(const char *names)
{
    fprintf(stderr, "usage: %s %s\n", program_name, names);
    exit(2);
}

static inline uint64_t number_of(const char *word, uint64_t least, uint64_t most, const char *names)
{
    char *end;
    errno = 0;
    const uint64_t number = strtoull(word, &end, 10);
    if (errno != 0 || *end != '\0' || end == word || *word == '-' || number < least || number > most) {
        usage(names);
    }
    return number;
}

static inline uint32_t random_between(uint64_t *state, uint32_t least, uint32_t most)
{
    return least + high_below(random_step(state), most - least + 1);
}

#endif
