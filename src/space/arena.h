/* The arena: the range of addresses that all objects live in, and the side tables about its units.
 *
 * Nothing is reserved. The arena chooses a random base in a part of the address space where the kernel puts nothing of
 * its own accord. It grows upward from there by mapping pages at exactly the next addresses, provided that they are
 * free. Addresses that have another mapping are a gap: its units are never handed out, and the arena continues behind
 * it. The side tables have fixed distances from the base and grow in the same way. So the unit and the place in a table
 * follow from an address by arithmetic, and the process maps only what it uses (docs/decisions/addresses.md).
 *
 * Owns: for each unit its tag, the first unit of its run, its page bits, a descriptor (used by the run that starts
 * there), revisit links and code bytes.
 *
 * Invariants:
 *
 *   - Unit 0 is never used, so that 0 can mean none.
 *   - A unit has tag 0 unless it is part of a slab or a chunk, or the first of a large run.
 *   - A unit of a gap has tag 0, and its `first` is 0.
 *   - The tags and the page bits of all units below committed_units can be read.
 *   - The descriptor, the revisit links and the codes of every unit that was ever handed out can be read for ever. A
 *     late reader finds EMPTY there, or zeros, which mean the same, where a purged run gave the tables' pages back.
 *
 * Threads: arena_start once, before others run. arena_extend under the lock of growth, arena_publish under the depot's
 * as well. arena_remap by the owner of the units, under no lock that a free takes. Tags and descriptors may be read by
 * any. */
#ifndef TSLAB_SPACE_ARENA_H
#define TSLAB_SPACE_ARENA_H

#include "base/atomic.h"
#include "common/size_class.h"
#include "os/fatal.h"
#include "os/os.h"

#include <stdbool.h>
#include <stddef.h>

/* A tag tells, in one load, which magazine may take a slot: twice the class is in the low byte, the affinity above. A
 * magazine accepts only slots with its own tag. The affinity names an epoch, or, for classes whose objects are smaller
 * than a cache line, the heap that owns the slab. Tag 0: no object starts or lies here.
 *
 * The lowest bit is set while a sampled object lives in the unit of a slab (samples.h): no magazine has such a tag, so
 * all frees there come to the slow path. It comes and goes while another thread may change the affinity. */
enum {
    TAG_NONE = 0,
    TAG_SAMPLED = 1,
    TAG_LARGE = 1 << 8 /* class 0 */,
    TAG_CHUNK = 2 << 8,
    TAG_NEVER = 0xffffff00u /* class 0; no unit has it */
};

enum { KEPT_CODES = 2 * BITMAP_WORDS - 4 }; /* as many as find room in place of a bitmap */

enum {
    AFFINITY_SHIFT = 8,
    AFFINITY_PROCESS = 2,
    AFFINITY_FIRST_HEAP = 16,
    AFFINITY_EPOCH = 1 << 23,    /* plus the id of the epoch */
    AFFINITY_OF_EPOCH = 1 << 21, /* in place of these, plus a number: a heap of an epoch, not of a thread */
};

struct unit {
    atomic_u32 tag;
    uint32_t first; /* the first unit of the run: in all units of a slab or chunk, else in the run's first and last */
};

/* The part of a unit's record that survives every change of use, and is never purged. The queue belongs to the slab
 * that starts there (partial_list.h). A late thread may still write it when the slab is gone. */
struct revisit {
    atomic_u32 queued;     /* 1 while on a revisit queue, or about to be */
    atomic_u32 queue_next; /* belongs to the queue while queued */
    uint32_t samples;      /* sampled objects that live in the unit of a slab; under the samples' lock (samples.h) */
};

/* Figures that reports read without a lock, beside their owner (census.h), are written by owned_store (atomic.h):
 * large_bytes, unpurged_bytes, life and fresh_words.
 *
 * The kinds of runs: used, or empty in one of two ways (depot.h). */
enum run_kind { RUN_USED, RUN_DIRTY, RUN_CLEAN };

/* The descriptor of a run: a slab, a chunk, a large block, or empty units in the depot. Where no run has ever started,
 * `kind` is RUN_USED. */
struct run {
    /* The protocol of a slab (slab.h, partial_list.h). */
    atomic_u32 word;     /* state, class and epoch */
    atomic_u32 full;     /* slab: words of the bitmap that are whole. Chunk: how far it was filled (chunk.h) */
    uint32_t prev, next; /* neighbours in the run's present list: partial slabs, full chunks of a hold, a bin of the
                            depot, or trapped runs */

    /* The run (depot.h). Written under the depot's lock. The owner of a used run may read them. */
    uint32_t units;
    uint32_t kind; /* enum run_kind */

    /* Links and figures that depend on what the run serves as. */
    union {
        /* RUN_DIRTY: the depot's list by age. RUN_CLEAN: its list of runs with tables, if the run is on it. */
        struct {
            uint32_t prev, next;
            union {
                uint64_t dirty_since_ms;
                uint64_t tables_gone; /* clean run: not 0 when its part of the side tables has no pages (depot.c) */
            };
        } empty;
        /* RUN_USED by an epoch (epoch_record.h): the list of the epoch's runs, under the epoch's lock. */
        struct {
            uint32_t prev, next;
        } of_epoch;
    };
    union {
        size_t large_bytes;    /* large block: the bytes that its user may touch (large.h) */
        uint64_t swept_live;   /* chunk: `live` when its free pages were given back; 0: they never were (holes.h) */
        size_t unpurged_bytes; /* trapped run: the bytes that still have pages (trap.h) */
    };
    uint32_t life;   /* chunk: the number of its present life, if it began while allocations were sampled; else 0 */
    atomic_u32 live; /* chunk: granules that live, as counted by chunk.h */
    union {
        uint16_t fresh_words; /* slab: the words whose slots were never handed out, and read as zero (slab_open) */
        uint16_t cut;         /* open chunk: its cursor ends here, in granules, because the object that has the next one
                                 is sampled; CHUNK_GRANULES: it is not cut. By the holder */
    };
    uint16_t gone_pages; /* slab, chunk: pages that were purged and do not count for limits (limit.h) */
    bool is_guarded;     /* large run, in the checked library: the page behind it has no access (large.c) */

    /* Cache lines of their own: most givers write only to the bitmap, and only the holder to the counts. */
    union {
        /* A set bit means that the slot is in the slab. */
        _Alignas(CACHE_LINE) atomic_u64 bitmap[BITMAP_WORDS];
        struct {
            _Atomic(struct hold *) filler; /* full chunk: the hold that filled it (chunk.h); else NULL */
            atomic_u32 unfreed;            /* granules that the threads of this hold allocated and did not free */
            atomic_u32 has_kept;           /* 1: `kept` has the codes of its objects, and the table has none */
            atomic_u32 kept[KEPT_CODES];   /* granule << 8 | code; 0: none */
        } chunk;
    };
};

/* Units have lower numbers than this, so that a number fits into the word of a lock (lock.h) beside its two flags. */
enum { ARENA_UNITS_MOST = 1 << 30 };

/* Huge pages are of interest to an arena of more units than this, with pages of this size. */
enum {
    HUGE_FROM_UNITS = (16 << 20) / UNIT_BYTES,
    HUGE_UNITS = (2 << 20) / UNIT_BYTES, /* of a huge page */
    HUGE_SURELY_UNITS = 16 * HUGE_UNITS, /* from here on, also where growth is slow */
    HUGE_OF_PAGE_BYTES = 4096,
};

struct arena {
    /* The fast paths read this line. It is written only when the arena grows. */
    _Alignas(CACHE_LINE) uintptr_t base;
    atomic_size_t committed_units; /* units below this are accessible, except gaps */
    struct unit *units;
    struct run *runs;
    struct revisit *revisits;
    atomic_u8 *codes;         /* a byte for each granule (size_codes.h) */
    atomic_u8 *codes_of_zero; /* where the code of address 0 would be */
#if TSLAB_CHECKED
    atomic_u64 *live; /* a bit for each granule: an object of the user starts here (live_bits.h) */
#endif
    _Alignas(CACHE_LINE) size_t span_units; /* the most units that the arena may have, with gaps; 0: not started */
    atomic_u8 *pages;                       /* a bit for each page of a unit (pages.h) */
    atomic_u32 is_huge_on_request;          /* 1: the depot may ask for huge pages (huge_pages.h). Set at the start */
};

extern struct arena arena;

_Static_assert(offsetof(struct arena, codes_of_zero) < CACHE_LINE, "what the fast paths read is in one line");

/* The side tables: a part for each unit. */
enum arena_table {
    TABLE_TAGS,
    TABLE_PAGES,
    TABLE_RUNS,
    TABLE_REVISITS,
    TABLE_CODES,
#if TSLAB_CHECKED
    TABLE_LIVE,
#endif
    TABLES
};

/* A side table. It is mapped from its start up to `end`, except for gaps. */
struct table {
    uintptr_t start, end;
    size_t unit_bytes;          /* bytes for each unit */
    atomic_size_t mapped_bytes; /* writable ones: those about gaps can only be read */
};

extern struct table arena_tables[TABLES];

/* The bytes of units that are mapped, and that arena_extend has not returned yet. Any thread. */
size_t arena_unopened_bytes(void);

/* Chooses the place of an arena that may grow to this many bytes, or fewer where the address space is small. False when
 * no useful place is found. A later call may succeed. */
bool arena_start(size_t bytes);

/* Units in a row. */
struct stretch {
    uint32_t first;
    uint32_t units; /* 0: none */
};

/* Maps units that were never used, and that read as zero. They are enough for n units at a multiple of align units (a
 * power of two, counted in addresses). The n units may begin in the last `tail` units of the arena, which the caller
 * has. Returns whole pages, or no units when the span or the memory is exhausted.
 *
 * The first call returns what arena_start committed. That may be too short: then call again. arena_publish has the
 * units be part of the arena, before the next call. */
struct stretch arena_extend(size_t n, size_t align, size_t tail);
void arena_publish(const struct stretch *fresh);

/* Maps units again that the caller owns, in whole pages, and whose mapping was moved away. They read as zero. False:
 * the system refuses. */
bool arena_remap(uint32_t first, uint32_t n);

/* Gives back the pages of the side tables about the inner units of an empty run, which tell nothing. */
void arena_purge_tables(uint32_t first, uint32_t n);

/* Clears the tags of a run that the caller owns, and is about to recycle. */
void arena_untag(uint32_t first, uint32_t units);

/* The first unit at or after this one that starts a page, and the last one at or before it. Pages may have several
 * units. */
uint32_t arena_page_up(uint32_t unit);
uint32_t arena_page_down(uint32_t unit);

always_inline char *arena_address(uint32_t unit)
{
    return (char *)arena.base + ((size_t)unit << UNIT_SHIFT);
}

/* The unit of an address. For an address outside of the arena: a number beyond every unit. */
always_inline size_t arena_unit(const void *p)
{
    return ((uintptr_t)p - arena.base) >> UNIT_SHIFT;
}

always_inline bool arena_has_unit(size_t unit)
{
    return unit < load_plain(&arena.committed_units);
}

always_inline uint32_t run_index(const struct run *slab)
{
    invariant(slab >= arena.runs);
    return (uint32_t)(slab - arena.runs);
}

always_inline struct revisit *revisit_of(const struct run *slab)
{
    return &arena.revisits[run_index(slab)];
}

always_inline uint32_t tag_of(unsigned class, uint32_t affinity)
{
    invariant(class < CLASS_LIMIT && affinity <= UINT32_MAX >> AFFINITY_SHIFT);
    return (affinity << AFFINITY_SHIFT) | class << 1;
}

_Static_assert(CLASS_LIMIT <= 1 << (AFFINITY_SHIFT - 1), "a tag has room for a class and TAG_SAMPLED");

always_inline unsigned tag_class(uint32_t tag)
{
    return (tag & 0xff) >> 1;
}

/* The class times 2^CLASS_SCALE, and half of one more if the unit is sampled: for the fast path, as it says. */
always_inline size_t tag_class_scaled(uint32_t tag)
{
    return (size_t)(uint8_t)tag << (CLASS_SCALE - 1);
}

/* The tag of a unit of the arena without TAG_SAMPLED, and that bit. Only who tells slots of a magazine apart, so that
 * sampled ones are none, reads the tag as it is. */
always_inline uint32_t unit_tag(size_t unit)
{
    return load_plain(&arena.units[unit].tag) & ~(uint32_t)TAG_SAMPLED;
}

always_inline bool unit_is_sampled(size_t unit)
{
    return (load_plain(&arena.units[unit].tag) & TAG_SAMPLED) != 0;
}

/* The tag of the unit that p lies in, without TAG_SAMPLED; TAG_NONE outside of the arena. */
always_inline uint32_t arena_tag(const void *p)
{
    const size_t unit = arena_unit(p);
    return arena_has_unit(unit) ? unit_tag(unit) : TAG_NONE;
}

#endif
