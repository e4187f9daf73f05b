/* Resident pages: which pages of the arena have memory, as the kernel tells in /proc/self/pagemap. The engine knows
 * which pages it handed out (pages.h). A program may have written to fewer of them.
 *
 * To ask takes system calls, one for each MiB, so only reports do. Where the kernel does not tell, all pages that were
 * handed out count as resident.
 *
 * Threads: any. A struct resident belongs to one call. */
#ifndef TSLAB_AUDIT_RESIDENT_H
#define TSLAB_AUDIT_RESIDENT_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resident {
    int file;              /* -1: the kernel does not tell */
    size_t first, count;   /* the pages that were read last, by their numbers */
    uint64_t entries[256]; /* what the kernel tells of these */
};

void resident_open(struct resident *resident);
void resident_close(struct resident *resident);

/* The bytes of a range on pages that have memory. All of them, where the kernel does not tell. */
size_t resident_range_bytes(struct resident *resident, const void *start, size_t bytes);

/* The bytes of n units on pages that were handed out and have memory. */
size_t resident_bytes(struct resident *resident, size_t first, size_t n);

#endif
