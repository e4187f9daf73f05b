/* A ring of records in memory that others may read at any time: the mapping of a file, which stays when the process is
 * gone, however it went.
 *
 * A writer takes a number by one addition, and so a place: the numbers of a place are `records` apart. The record's
 * sequence tells what is there: 0 nothing yet; 2n + 1 record n is being written; 2n + 2 it is complete. A place has one
 * writer at a time. A writer that finds another one there, or a newer record, drops its own, and counts that.
 *
 * A reader reads the sequence, the record, and the sequence again. If both are the same and even, the record is whole.
 * The card of the protocol is docs/protocols/timeline.md.
 *
 * Not here: what records mean (timeline.h). Threads: any. Nothing allocates or waits. */
#ifndef TSLAB_COMMON_RECORD_RING_H
#define TSLAB_COMMON_RECORD_RING_H

#include "base/atomic.h"
#include "base/bits.h"

enum { RING_VERSION = 1, RING_WORDS = 5, RING_HEADER_BYTES = 4096, RING_NAMES_BYTES = 2000 };

struct ring_record {
    _Alignas(CACHE_LINE) atomic_u64 sequence;
    atomic_u64 when_ns;
    atomic_u64 what;
    atomic_u64 word[RING_WORDS];
};

_Static_assert(sizeof(struct ring_record) == CACHE_LINE, "a record is a line");

/* What the file begins with. The tool that reads it relies on the places of the fields. */
struct ring_header {
    char magic[8];
    uint32_t version, header_bytes, record_bytes, records;
    uint64_t process, started_ns, started_real_ns;
    char program[64];
    char names[RING_NAMES_BYTES]; /* of the numbers that records have in a row, with line ends between them */
    _Alignas(CACHE_LINE) atomic_u64 next;
    atomic_u64 dropped;
    uint64_t unused[6];
};

_Static_assert(sizeof(struct ring_header) <= RING_HEADER_BYTES, "the records come after the header");

struct ring {
    struct ring_header *header;
    struct ring_record *records;
    uint64_t mask;
};

/* What a reader finds. */
struct ring_entry {
    uint64_t number, when_ns, what, word[RING_WORDS];
};

/* Makes a ring of memory that is zero and aligned to cache lines. It has as many records as fit, a power of two. */
void ring_begin(struct ring *ring, void *start, size_t bytes);

/* Enters a record. False: it was dropped. */
bool ring_write(const struct ring *ring, uint64_t when_ns, uint64_t what, const uint64_t word[RING_WORDS]);

/* The record at a place from 0 to ring->mask. False: there is none, or it is being written. */
bool ring_read(const struct ring *ring, uint64_t place, struct ring_entry *entry);

#endif
