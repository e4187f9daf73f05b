/* Survivors: the objects of an epoch that are alive. Here they are counted, reported on stderr, or ended.
 *
 * Counting looks at linked runs and at what holds have (a chunk that is being filled, a heap that caches). It does so
 * under the epoch's lock, also while a thread allocates from the hold: everything that it reads there is atomic.
 *
 * Threads: any, inside a gate, except survivors_say. */
#ifndef TSLAB_EPOCH_SURVIVORS_H
#define TSLAB_EPOCH_SURVIVORS_H

#include "thread/thread.h"

struct survivors {
    uint64_t objects, bytes;
    uint64_t slab_bytes, chunk_bytes, large_bytes; /* all runs of the epoch, also those without survivors */
    uint64_t cached_bytes;                         /* free slots that its heaps have */
    uint64_t resident_bytes;                       /* of all runs, on pages that are there (pages.h) */
};

/* The bytes of all runs. */
static inline uint64_t survivors_memory(const struct survivors *sum)
{
    return sum->slab_bytes + sum->chunk_bytes + sum->large_bytes;
}

/* Counts the survivors. The result is exact except for what other threads allocate and free meanwhile. */
void survivors_count(struct epoch *epoch, struct survivors *sum);

/* Writes a line on stderr. Outside of the gate, because it may take as long as the reader of stderr does. */
void survivors_say(const struct survivors_line *line);

/* Ends all survivors, as the policy says. No thread uses one, frees one, or has a hold of the epoch. */
void survivors_end(struct epoch *epoch);

#endif
