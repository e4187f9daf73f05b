/* Huge pages where a program grows. A fault for a small page costs several times its share of a fault for a huge page
 * (docs/decisions/huge-pages.md). But a huge page that is not used up, or that the kernel fills again after a purge, is
 * memory that the program did not ask for.
 *
 * So the depot asks for one huge page at a time, for the next 2 MiB that slabs are about to fill, once short runs are
 * HUGE_SURELY_UNITS, or HUGE_FROM_UNITS in a program that grows fast. The pages come at once, and then the range loses
 * its mark: khugepaged finds nothing to fill, and the range is one mapping with its neighbours again. Runs for objects
 * of many pages take no part: it is unknown how much of them will be touched.
 *
 * A system that has no huge page at hand may spend milliseconds on making one. Then asking pauses.
 *
 * Threads: any, inside a gate. docs/decisions/huge-pages.md */
#ifndef TSLAB_SPACE_HUGE_PAGES_H
#define TSLAB_SPACE_HUGE_PAGES_H

#include "space/arena.h"

enum {
    HUGE_RUN_UNITS = 5 /* the longest slab that is soon filled */
};

/* Whether the process may ask for huge pages in its arena. */
bool huge_is_possible(void);

/* Whether it is worth asking now. If so, huge_fill must follow, and until then no other thread may ask: threads that
 * grow together would fill a huge page each, most of it unused. Under the depot's lock. */
bool huge_claim(void);

/* Has the system back HUGE_UNITS units by a huge page, if it can, after huge_claim. The caller owns them. They start at
 * a multiple of their size and are clean. They read as zero afterwards, too. */
void huge_fill(uint32_t first);

#endif
