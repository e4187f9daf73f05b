/* The arena: the one reserved range of addresses that everything lives in, and the side tables about its units.
 *
 * Owns: the reservation; for every unit its tag and the first unit of its run; for every unit a descriptor, used by the
 * run that starts there. All of it is reserved at once without access and committed in steps from the low end, the side
 * tables with the units that they describe, so that strict overcommit accounting charges only what is in reach.
 *
 * Invariants: unit 0 is never used, so that 0 can mean none. A unit that is not part of a slab, nor the first of a
 * large run, has tag 0. Descriptors are never unmapped: who comes late may still look at one, and finds EMPTY, or
 * zeros, which is the same, where the pages of those inside of a purged run were given back.
 *
 * Threads: arena_start once, before others; arena_extend under the depot's lock; reading tags and descriptors from
 * anywhere. */
#ifndef TSLAB_CORE_ARENA_H
#define TSLAB_CORE_ARENA_H

#include "base/atomic.h"
#include "core/class.h"

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

enum run_kind { RUN_USED, RUN_DIRTY, RUN_CLEAN };

/* The descriptor of a run: a slab, a large block, or empty units in the depot. */
struct slab {
    /* The protocol of a slab (slab.h, partial.h). */
    atomic_u32 word;     /* state, class and epoch */
    atomic_u32 full;     /* words of the bitmap that are whole */
    uint32_t prev, next; /* the partial list, a bin of the depot, or the trapped runs, under the lock of each */

    /* The run (depot.h), under the depot's lock. */
    uint32_t units;
    uint32_t kind;
    uint32_t age_prev, age_next; /* dirty runs, oldest first; or the runs of an epoch (epoch.h) under its lock */
    uint64_t dirty_since_ms;

    size_t large_bytes;    /* a large run: what its user may touch; a trapped one: what is not purged (trap.h) */
    uint32_t purged_slots; /* a slab: free slots when its free pages were last purged (holes.h); the holder, or the
                              list's lock */
    atomic_u32 live;       /* a chunk: see chunk.h */

    /* Bit set: the slot is in the slab. Its own cache lines: givers write here, and only here. */
    _Alignas(CACHE_LINE) atomic_u64 bitmap[BITMAP_WORDS];
};

struct arena {
    /* What the fast path reads. */
    uintptr_t base;
    atomic_size_t committed_units; /* tables and memory of the units below are accessible */
    struct unit *units;
    struct slab *slabs;
    struct revisit *revisits;
    atomic_u8 *codes;         /* a byte a granule: chunk.h, generation.h */
    atomic_u8 *codes_of_zero; /* where that of address 0 would be */
#if TSLAB_CHECKED
    atomic_u64 *live; /* a bit a granule: an object of the user starts here */
#endif
    /* Under the depot's lock. */
    size_t used_units; /* the units above were never handed out */
    size_t reserved_units;
    void *reservation;
    size_t reservation_bytes;
};

extern struct arena arena;

/* Reserves the arena: at most bytes, less when the kernel or the limit on the address space says so (at most half of a
 * finite limit, so that thread stacks still fit). False when nothing useful can be had; a later call may succeed. */
bool arena_start(size_t bytes);

/* Hands out the next n units that were never used (they read as zero), aligned to a multiple of align units (a power of
 * two, counted in addresses); *gap receives how many units before them were skipped. Returns the first unit, or 0 when
 * the reservation or the memory is exhausted: nothing has changed then. */
uint32_t arena_extend(size_t n, size_t align, uint32_t *gap);

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
    return unit < atomic_load_explicit(&arena.committed_units, memory_order_relaxed);
}

always_inline uint32_t slab_index(const struct slab *slab)
{
    return (uint32_t)(slab - arena.slabs);
}

always_inline struct revisit *revisit_of(const struct slab *slab)
{
    return &arena.revisits[slab_index(slab)];
}

always_inline uint32_t tag_of(unsigned class, uint32_t affinity)
{
    return (affinity << AFFINITY_SHIFT) | class;
}

always_inline unsigned tag_class(uint32_t tag)
{
    return tag & 0xff;
}

/* Whether the tag is that of a slab whose objects have handles. */
always_inline bool tag_has_handles(uint32_t tag)
{
    const uint32_t both = tag_of(0, AFFINITY_EPOCH | AFFINITY_HANDLE);
    return (tag & both) == both && tag_class(tag) != 0;
}

#endif
