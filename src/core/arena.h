/* The arena: the range of addresses that all objects live in, and the side tables about its units.
 *
 * Nothing is reserved. The arena chooses a base at random where the kernel puts nothing of its own accord, and grows
 * upward from there by mapping pages at exactly the next addresses, on condition that nobody has them. What somebody
 * else has is a gap: its units are never handed out, and the arena goes on behind it. The side tables have fixed
 * distances from the base and grow in the same way, so that unit and tables follow from an address by arithmetic, and
 * the process has mapped what it uses (docs/decisions/addresses.md).
 *
 * Owns: for every unit its tag and the first unit of its run; for every unit a descriptor, used by the run that starts
 * there; revisit links and code bytes.
 *
 * Invariants: unit 0 is never used, so that 0 can mean none. A unit that is not part of a slab, nor the first of a
 * large run, has tag 0; so has every unit of a gap, whose `first` is 0, too. The tags of all units below
 * committed_units can be read. The descriptor, the revisit links and the codes of every unit that was ever handed out
 * can be read for ever: a latecomer that looks at one finds EMPTY, or zeros, which is the same, where the pages of
 * those inside of a purged run were given back.
 *
 * Threads: arena_start once, before others; arena_extend, arena_leave and arena_return under the depot's lock or by the
 * owner of the units; reading tags and descriptors from anywhere. */
#ifndef TSLAB_CORE_ARENA_H
#define TSLAB_CORE_ARENA_H

#include "base/atomic.h"
#include "core/class.h"

#include <stdbool.h>
#include <stddef.h>

/* A tag says, in one load, which magazine may take a slot: the class in the low byte, the affinity above. A magazine
 * accepts only its own tag. The affinity is the epoch's id, or, for classes whose objects share cache lines, that of
 * the heap which the slab is home to. Tag 0: no object starts or lies here. */
enum {
    TAG_NONE = 0,
    TAG_LARGE = 1 << 8 /* class 0 */,
    TAG_CHUNK = 2 << 8,
    TAG_NEVER = 0xffffff00u /* class 0; no unit has it */
};
enum {
    AFFINITY_SHIFT = 8,
    AFFINITY_PROCESS = 2,
    AFFINITY_FIRST_HEAP = 16,
    AFFINITY_EPOCH = 1 << 23,  /* plus the id of the epoch */
    AFFINITY_HANDLE = 1 << 22, /* in addition: objects of the slab have handles */
};

struct unit {
    atomic_u32 tag;
    uint32_t first; /* in slabs: the first unit of the run; else valid in the first and the last unit of a run */
};

/* What a unit keeps whatever it serves as, apart from what is purged with empty runs. The queue is that of the slab
 * which starts there (partial.h): who comes late may write it. */
struct revisit {
    atomic_u32 queued;     /* 1 while on a revisit queue, or about to be */
    atomic_u32 queue_next; /* belongs to the queue while queued */
    uint32_t generation;   /* of handles: the highest that a place in the unit has had (generation.h) */
};

/* What a run is: used, or empty in one of four ways (depot.h). */
enum run_kind { RUN_USED, RUN_STUCK, RUN_DIRTY, RUN_CLEAN, RUN_ABSENT };

/* The descriptor of a run: a slab, a large block, or empty units in the depot. Its `kind` is RUN_USED where no run was
 * ever. */
struct run {
    /* The protocol of a slab (slab.h, partial.h). */
    atomic_u32 word;     /* state, class and epoch */
    atomic_u32 full;     /* words of the bitmap that are whole */
    uint32_t prev, next; /* in the list of its present life: partial slabs, a bin of the depot, or trapped runs */

    /* The run (depot.h), under the depot's lock. */
    uint32_t units;
    uint32_t kind; /* enum run_kind */

    /* What else the run is, by the life that it leads. */
    union {
        /* RUN_DIRTY: in the depot's list by age. RUN_CLEAN: perhaps in its list of runs to be swept. */
        struct {
            uint32_t prev, next;
            union {
                uint64_t dirty_since_ms;
                uint64_t is_swept; /* of a clean run: the side tables have no pages for it (depot.c) */
            };
        } empty;
        /* RUN_USED, and an epoch's (epoch.h): in the list of its runs, under its lock. */
        struct {
            uint32_t prev, next;
        } of_epoch;
    };
    union {
        size_t large_bytes;    /* of a large block: what its user may touch (large.h) */
        size_t unpurged_bytes; /* of a trapped run (trap.h) */
    };
    uint32_t purged_slots; /* a slab: free slots when its free pages were last purged (holes.h); the holder, or the
                              list's lock */
    atomic_u32 live;       /* a chunk: see chunk.h */
    bool is_guarded;       /* a large run, in the checked library: the page behind it has no access (large.c) */

    /* Bit set: the slot is in the slab. Its own cache lines: givers write here, and only here. */
    _Alignas(CACHE_LINE) atomic_u64 bitmap[BITMAP_WORDS];
};

/* No unit has a higher number: those below fit a place in the queue of a lock (lock.h) beside its two flags. */
enum { ARENA_UNITS_MOST = 1 << 30 };

struct arena {
    /* What the fast paths read, in a line that is written only when the arena grows. */
    _Alignas(CACHE_LINE) uintptr_t base;
    atomic_size_t committed_units; /* the units below, but for gaps and absent runs, are accessible */
    struct unit *units;
    struct run *runs;
    struct revisit *revisits;
    atomic_u8 *codes;         /* a byte a granule: chunk.h, generation.h */
    atomic_u8 *codes_of_zero; /* where that of address 0 would be */
#if TSLAB_CHECKED
    atomic_u64 *live; /* a bit a granule: an object of the user starts here */
#endif
    _Alignas(CACHE_LINE) size_t span_units; /* the arena may have so many units, gaps included; 0: not started */
};

extern struct arena arena;

_Static_assert(offsetof(struct arena, codes_of_zero) < CACHE_LINE, "what the fast paths read is in one line");

/* Chooses the place of an arena that may grow to so many bytes, fewer where the address space is small. False when
 * nothing useful can be had; a later call may succeed. */
bool arena_start(size_t bytes);

/* Units in a row. */
struct stretch {
    uint32_t first;
    uint32_t units; /* 0: none */
};

/* Makes units accessible that were never used, and read as zero: so many that n units from a multiple of align units (a
 * power of two, counted in addresses) lie in them, or in them and the `tail` units before the end of the arena, which
 * the caller has. The first call returns what was committed at the start, which may not do: then call again. None when
 * the span or the memory is exhausted. What is returned starts a page and ends with one. */
struct stretch arena_extend(size_t n, size_t align, size_t tail);

/* Units in whole pages, empty and the caller's, are given back: the mapping, and what the side tables say of all units
 * but the first, which can only be read from then on. False: the system refuses, and nothing has changed. */
bool arena_leave(uint32_t first, uint32_t n);

/* Makes such units accessible again, or a part of them that is whole pages; they read as zero. */
enum arena_returned { ARENA_RETURNED, ARENA_NO_MEMORY, ARENA_LOST /* somebody else lives there by now */ };
enum arena_returned arena_return(uint32_t first, uint32_t n);

/* Gives back the pages of the side tables about units inside of an empty run, which say nothing. */
void arena_sweep_tables(uint32_t first, uint32_t n);

/* Clears the tags of a run that is to be recycled, and is the caller's. */
void arena_untag(uint32_t first, uint32_t units);

/* Pages may have several units: the first unit at or after this one that starts a page, and the one at or before it. */
uint32_t arena_page_up(uint32_t unit);
uint32_t arena_page_down(uint32_t unit);

always_inline char *arena_address(uint32_t unit)
{
    return (char *)arena.base + ((size_t)unit << UNIT_SHIFT);
}

/* The unit of an address; a number beyond every unit for one outside the arena. */
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
    return (uint32_t)(slab - arena.runs);
}

always_inline struct revisit *revisit_of(const struct run *slab)
{
    return &arena.revisits[run_index(slab)];
}

always_inline uint32_t tag_of(unsigned class, uint32_t affinity)
{
    return (affinity << AFFINITY_SHIFT) | class;
}

always_inline unsigned tag_class(uint32_t tag)
{
    return tag & 0xff;
}

/* The tag of the unit that p lies in; TAG_NONE outside of the arena. */
always_inline uint32_t arena_tag(const void *p)
{
    const size_t unit = arena_unit(p);
    return arena_has_unit(unit) ? load_plain(&arena.units[unit].tag) : TAG_NONE;
}

/* Whether the tag is that of a slab whose objects have handles. */
always_inline bool tag_has_handles(uint32_t tag)
{
    const uint32_t both = tag_of(0, AFFINITY_EPOCH | AFFINITY_HANDLE);
    return (tag & both) == both && tag_class(tag) != 0;
}

#endif
