/* The timeline: what happened when, for people. The option trace names a file, whose mapping is a ring of records
 * (record_ring.h). `tslab timeline` reads it, also from a process that was killed.
 *
 * Noted are the life of epochs, each purge, operations that took longer than TIMELINE_LONG_NS, limits that were reached
 * (each kind once a millisecond), and, every few milliseconds while slow operations come, how much memory there is.
 *
 * In the child of a fork the timeline goes on in a file of its own, which is made when something is to be noted there.
 *
 * Off, each place that notes something costs one load and one branch. Nothing here is on the fast path, allocates, or
 * takes a lock. Threads: any, and anywhere, except timeline_start and timeline_sample. */
#ifndef TSLAB_COMMON_TIMELINE_H
#define TSLAB_COMMON_TIMELINE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "base/probe.h"

enum timeline_state {
    TIMELINE_OFF,
    TIMELINE_ON,
    TIMELINE_TO_OPEN, /* in the child of a fork */
    TIMELINE_OPENING, /* a thread makes the file */
};

enum { TIMELINE_LONG_NS = 100000 };

/* The tool that reads the file relies on the numbers. */
enum timeline_kind {
    TIMELINE_NONE,
    TIMELINE_EPOCH_OPEN,  /* its value, its label */
    TIMELINE_EPOCH_CLOSE, /* its value */
    TIMELINE_EPOCH_END,   /* its value */
    TIMELINE_PURGE,       /* ns that it took, address, bytes, 1: granted */
    TIMELINE_LONG,        /* ns that it took, operation, bytes */
    TIMELINE_MEMORY,      /* bytes: resident, in use, dirty, stuck, committed */
    TIMELINE_NUMBERS,     /* five numbers in a row, from the one whose number is the part on */
    TIMELINE_NAME,        /* the thread's name */
    TIMELINE_LIMIT,       /* kind of limit, bytes in use, bytes wanted, epoch */
};

enum timeline_operation {
    TIMELINE_NO_OPERATION,
    TIMELINE_MALLOC,
    TIMELINE_FREE,
    TIMELINE_REALLOC,
    TIMELINE_CLOSE, /* of an epoch, or its release */
    TIMELINE_TRIM,
};

struct timeline {
    atomic_u32 state;
    atomic_u64 sampled_ms; /* when memory was looked at last */
    void (*sample)(void);
    const char *names; /* of the numbers in a row, with line ends */
};
extern struct timeline timeline;

/* Does what the option asks for, or says on stderr why it cannot. `sample` notes how much memory there is, outside of
 * all gates and locks. Before there are threads. */
void timeline_start(void (*sample)(void), const char *names);

/* Begins it later, when the option has a file by then. False: it cannot be written. */
bool timeline_begin_now(void);

void timeline_note(enum timeline_kind kind, uint32_t part, uint64_t when_ns, const uint64_t *words, unsigned count);
void timeline_note_epoch(enum timeline_kind kind, uint64_t value, const char *label);
void timeline_note_purge(uint64_t begun_ns, const void *start, size_t bytes, bool granted);
void timeline_note_limit(enum limit_kind kind, uint64_t used_bytes, uint64_t wanted_bytes, uint64_t epoch);
void timeline_note_if_long(uint64_t begun_ns, enum timeline_operation operation, size_t bytes);
void timeline_sample(void);

/* A macro, because no compiler keeps what stands under a condition that is 0, even where it optimises nothing: a build
 * without reports has none of the functions above. */
#define timeline_is_on() (TSLAB_REPORTS && unlikely(load_plain(&timeline.state) != TIMELINE_OFF))

static inline void timeline_epoch(enum timeline_kind kind, uint64_t value, const char *label)
{
    if (timeline_is_on()) {
        timeline_note_epoch(kind, value, label);
    }
}

#endif
