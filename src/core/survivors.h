/* Survivors: the objects of an epoch that are alive, counted, named on stderr, or ended.
 *
 * Linked runs, and what a hold has (a chunk that is being filled, a heap that caches), are looked at under the epoch's
 * lock, also while a thread allocates from the hold: all that is read there is atomic.
 *
 * Threads: any, inside a gate but for survivors_say. */
#ifndef TSLAB_CORE_SURVIVORS_H
#define TSLAB_CORE_SURVIVORS_H

#include "core/epoch.h"

struct survivors {
    uint64_t objects, bytes, memory_bytes; /* memory: of all runs that the epoch has, empty ones too */
};

/* Counts, exactly but for what other threads allocate and free meanwhile. */
void survivors_count(struct epoch *epoch, struct survivors *sum);

/* The memory of the epoch's linked runs. */
uint64_t survivors_kept_bytes(struct epoch *epoch);

/* A line for stderr, and nothing yet where its length is 0. */
struct survivors_line {
    size_t length;
    char buffer[640];
};

/* Makes the line: how many, and some of them. The caller has all holds. */
void survivors_describe(struct epoch *epoch, const struct survivors *sum, struct survivors_line *line);

/* Writes the line, if there is one. It may take as long as the reader of stderr does, so: outside of the gate. */
void survivors_say(const struct survivors_line *line);

/* Ends them all, as the policy says: nobody uses one, frees one, or holds a place in the epoch. */
void survivors_end(struct epoch *epoch);

#endif
