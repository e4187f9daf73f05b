/* The census: a walk over the runs in use, unit by unit, by their tags, and a look at each.
 *
 * It takes no lock, so that no thread ever waits for it, however large the arena is. Tags, words, bitmaps and codes are
 * atomic, the figures of a run are owned (arena.h), and all of them can be read for ever. A run that changes meanwhile
 * may be seen as it was, as it will be, twice, or not at all. While nothing runs, each run is seen once, as it is.
 *
 * Runs without a tag are not seen: empty, hot and trapped ones.
 *
 * A thread may give its walks a time. They leave out all that they have not found when it is over.
 *
 * Threads: any. No gate. */
#ifndef TSLAB_AUDIT_CENSUS_H
#define TSLAB_AUDIT_CENSUS_H

#include "slab/slab.h"

enum census_kind { CENSUS_SLAB, CENSUS_CHUNK, CENSUS_LARGE };

/* A run in use. */
struct census_run {
    uint32_t first; /* 0: the walk begins */
    uint32_t units;
    enum census_kind kind;
    uint32_t word;      /* slab: state, class and epoch */
    unsigned class;     /* slab */
    size_t large_bytes; /* large block: the bytes that its user may touch */
};

/* The time that the walks of the calling thread have from now on, whatever they walk over; CENSUS_NO_END: all that they
 * need, as before the first call. */
enum { CENSUS_NO_END = -1 };
void census_end_in(int ms);
bool census_is_over(void);

/* Finds the next run in use, behind *run. False: there is none, or the time is over. */
bool census_next(struct census_run *run);

/* A slab, right now. */
struct census_slab {
    uint32_t free_slots;         /* in the bitmap */
    uint64_t free_gone_bytes;    /* of these slots, on pages that are not there */
    uint64_t tail_gone_bytes;    /* behind the last slot, on such pages */
    uint64_t claimed_gone_bytes; /* of slots that a heap has claimed, on such pages */
};

void census_slab(const struct census_run *run, struct census_slab *slab);

/* The bytes of a slab behind its last slot. */
size_t census_tail_bytes(unsigned class);

#endif
