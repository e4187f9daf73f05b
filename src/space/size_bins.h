/* Empty runs by kind and length: a bin for each length up to 32 units, then four for each doubling.
 *
 * Invariant: a bit of `occupied` is set exactly where the bin's head is not 0. Threads: under the depot's lock. */
#ifndef TSLAB_SPACE_SIZE_BINS_H
#define TSLAB_SPACE_SIZE_BINS_H

#include "space/arena.h"

enum { BINS = 192 /* whole words of `occupied` */, RUN_KINDS = RUN_ABSENT + 1 };

struct size_bins {
    uint64_t occupied[RUN_KINDS - 1][BINS / 64]; /* the bins that are not empty */
    uint32_t heads[RUN_KINDS - 1][BINS];         /* the first run of each bin; runs are linked by next and prev */
};

/* The bin that a run of n units waits in. */
unsigned size_bins_of(uint32_t n);

/* Links and unlinks an empty run by its kind and length. */
void size_bins_link(struct size_bins *bins, uint32_t run);
void size_bins_unlink(struct size_bins *bins, uint32_t run);

/* The first bin at or after `bin` that has runs of the kind; BINS when there is none. */
unsigned size_bins_occupied(const struct size_bins *bins, unsigned kind, unsigned bin);

/* Whether the bit of a bin is set. */
always_inline bool size_bins_has(const struct size_bins *bins, unsigned kind, unsigned bin)
{
    return (bins->occupied[kind - 1][bin / 64] >> (bin % 64) & 1) != 0;
}

/* The first run in a bin; 0: none. */
always_inline uint32_t size_bins_first(const struct size_bins *bins, unsigned kind, unsigned bin)
{
    return bins->heads[kind - 1][bin];
}

#endif
