/* The profile: allocations are sampled, or not; which sampled objects live right now; and what pages they keep.
 *
 * A page is kept when objects live on it, and it is sparse when they have no more than half of it: if they were gone,
 * more would go back to the system than they use. All objects on a sparse page keep it together, so each is charged an
 * equal part of the page. Pages of a chunk that a thread fills are not sparse: it may fill them. The sums over all
 * objects are exact: a walk over all slabs and chunks gives them. A sample tells its own part of them.
 *
 * A slot that waits in a cache of a thread counts as an object here: it keeps its page, too.
 *
 * Threads: any, outside of all gates and locks. profile_live in the thread's gate. */
#ifndef TSLAB_REPORT_PROFILE_H
#define TSLAB_REPORT_PROFILE_H

#include "slab/samples.h"

/* Samples allocations from now on, with so many bytes between two samples on average; 0: not any more, and what is
 * known of living objects is forgotten. False: no memory, and nothing has changed. */
bool profile_set(uint64_t period);

/* The record with this number, if its object lives. *bytes receives what it has. */
bool profile_live(uint32_t number, struct sample *sample, uint64_t *bytes);

/* Kept bytes. */
struct kept {
    uint64_t pages;  /* sparse pages */
    uint64_t wasted; /* what no object has of them */
};

/* All that the slabs of a class keep; CLASS_NONE: chunks. */
void profile_kept(struct kept *by_class);

/* The part of that which a living object is charged. */
struct kept profile_kept_by(const struct sample *sample);

/* Writes the profile as text, in the form that docs/profiles.md describes, to the file that the option names, if
 * allocations are sampled. number: which report of the program it is. */
void profile_save(uint32_t number);

/* Writes a shorter one to a descriptor: of the objects that live at most PROFILE_PART_MOST, each for several, the
 * stacks of these, and nothing of what they keep. */
enum { PROFILE_PART_MOST = 1000, PROFILE_PART_MAPS = 256 << 10 };
void profile_save_part(int fd);

#endif
