/* A chunk: a run of units that an epoch fills with objects of mixed sizes, one after another.
 *
 * Out of line there is a byte for each granule (arena.codes): the size code of the object that starts there, 0
 * elsewhere and after its free. The code gives the usable size, tells a start from an interior pointer, and sees a
 * double free.
 *
 * Granules are what is counted, so that allocating counts by moving on: all that the cursor has passed is alive, but
 * for what was freed. How many objects that are, the codes tell who asks.
 *
 * One holder fills a chunk at a time (epoch.h): it writes and clears codes with plain stores and counts for itself.
 * Everybody else clears a code by an exchange and counts in `live` of the descriptor, which is CHUNK_OPEN less the
 * granules that they freed while the chunk is open, and the granules of the objects in it once it is sealed. Who brings
 * it to 0 has the chunk.
 *
 * Invariants: the codes of a run that is no chunk, nor a slab with handles, are 0; a slot freed in a chunk is not used
 * again before all of the chunk is empty; objects are dense, but for what alignment skips.
 *
 * The card of the protocol is docs/protocols/epoch.md. */
#ifndef TSLAB_CORE_CHUNK_H
#define TSLAB_CORE_CHUNK_H

#include "core/code.h"
#include "core/misuse.h"
#include "core/slab.h"

enum {
    CHUNK_BYTES = CHUNK_UNITS * UNIT_BYTES,
    CHUNK_GRANULES = CHUNK_BYTES / GRANULE_BYTES,
    CHUNK_OPEN = 1 << 30,
    CHUNK_ALIGN_MOST = 4096,
};

_Static_assert(CHUNK_OBJECT_MOST <= CODE_EXACT_BYTES + (255 - CODE_EXACT) * CODE_STEP_BYTES, "a code is a byte");

/* The place where a holder fills a chunk, by numbers of granules: addresses / GRANULE_BYTES. */
struct cursor {
    atomic_u64 at;     /* what is left begins here */
    uint64_t end;      /* and ends here; both 0: no chunk */
    atomic_u64 start;  /* of the chunk, or NO_CHUNK */
    atomic_u64 freed;  /* start, and what the holder freed or passed by: equals `at` when it freed all */
    atomic_u64 passed; /* granules that it has passed before it left a chunk, or started anew */
};

/* The start of a cursor without a chunk: no granule is less than a chunk beyond it. */
#define NO_CHUNK ((uint64_t)1 << (63 - GRANULE_SHIFT))

/* The start of the cursor's chunk; NULL when it has none. */
always_inline char *cursor_start(const struct cursor *cursor)
{
    const uint64_t start = load_plain(&cursor->start);
    return start == NO_CHUNK ? NULL : (char *)(start << GRANULE_SHIFT);
}

/* The granule that starts at p. Where none does, the rotation puts the bits that are wrong on top: that is in no chunk.
 */
always_inline uint64_t granule_at(const void *p)
{
    const uint64_t address = (uintptr_t)p;
    return address >> GRANULE_SHIFT | address << (64 - GRANULE_SHIFT);
}

always_inline void *chunk_bump(struct cursor *cursor, uint64_t granules, unsigned code)
{
    const uint64_t at = load_plain(&cursor->at);
    if (unlikely(granules > cursor->end - at)) {
        return NULL;
    }
    store_plain(&cursor->at, at + granules);
    store_plain(arena.codes_of_zero + at, (uint8_t)code);
    void *const p = (void *)(at << GRANULE_SHIFT);
    if (p == NULL) {
        __builtin_unreachable(); /* callers need not look once more */
    }
    return p;
}

/* The next object of the chunk, of at most CODE_EXACT_BYTES and at least 1; NULL when it is none of these, or does not
 * fit. The holder. */
always_inline void *chunk_alloc_small(struct cursor *cursor, size_t size)
{
    const uint64_t granules = (size + GRANULE_BYTES - 1) >> GRANULE_SHIFT; /* 0, too, where the sum does not fit */
    if (unlikely(granules - 1 >= CODE_EXACT)) {
        return NULL;
    }
    return chunk_bump(cursor, granules, (unsigned)granules);
}

/* The next object of the chunk; NULL when it does not fit. Size is at most CHUNK_OBJECT_MOST. The holder. */
always_inline void *chunk_alloc(struct cursor *cursor, size_t size)
{
    const unsigned code = code_of_size(size);
    return chunk_bump(cursor, code_granules(code), code);
}

/* The same at a multiple of alignment, a power of two of at most CHUNK_ALIGN_MOST. */
void *chunk_alloc_aligned(struct cursor *cursor, size_t size, size_t alignment);

/* Whether p is where a granule starts of the chunk that the cursor fills. */
always_inline bool chunk_is_own(const struct cursor *cursor, const void *p)
{
    return granule_at(p) - load_plain(&cursor->start) < CHUNK_GRANULES;
}

/* The rest of a free by the holder, after which it may have freed all that it allocated. */
void chunk_try_reset(struct cursor *cursor);

always_inline void chunk_take_back(struct cursor *cursor, atomic_u8 *code, uint64_t granules)
{
    store_plain(code, 0);
    const uint64_t freed = load_plain(&cursor->freed) + granules;
    store_plain(&cursor->freed, freed);
    if (unlikely(freed == load_plain(&cursor->at))) {
        chunk_try_reset(cursor);
    }
}

/* Frees an object of the cursor's chunk, of at most CODE_EXACT_BYTES; false: that is not what starts at p. The holder.
 */
always_inline bool chunk_free_small(struct cursor *cursor, void *p)
{
    const uint64_t granule = granule_at(p);
    if (granule - load_plain(&cursor->start) >= CHUNK_GRANULES) {
        return false;
    }
    atomic_u8 *const code = arena.codes_of_zero + granule;
    const uint64_t found = load_plain(code);
    if (unlikely(found - 1 >= CODE_EXACT)) {
        return false;
    }
    chunk_take_back(cursor, code, found);
    return true;
}

/* Frees an object at a granule of the cursor's chunk. The holder. Ends the program when no object starts at p. */
always_inline void chunk_free_own(struct cursor *cursor, void *p)
{
    atomic_u8 *const code = code_at(p);
    const unsigned found = load_plain(code);
    if (unlikely(found == 0)) {
        misuse_no_object(p);
    }
    chunk_take_back(cursor, code, code_granules(found));
}

/* Frees an object of any chunk that the caller does not fill. True: it was the last, and the chunk is the caller's to
 * recycle. The two writes are not one: the caller notes the chunk first (thread.h). */
bool chunk_free_other(void *p);

/* The usable size of the object at p. Ends the program when no object starts there. */
size_t chunk_usable(const void *p);

/* Makes the object at p, in the cursor's chunk, hold `size` bytes where it is; false when it cannot. The holder. */
bool chunk_resize(struct cursor *cursor, void *p, size_t size);

/* Makes a run from the depot, CHUNK_UNITS long, the cursor's chunk. */
void chunk_open(struct cursor *cursor, uint32_t first, uint32_t epoch);

/* Whether nothing in the cursor's chunk is alive, and nobody is about to free in it. */
bool chunk_is_empty(const struct cursor *cursor);

/* Takes the cursor off its chunk. True: the chunk is empty, and the caller's to recycle; else the last free will find
 * it so. `first` was linked where that free looks for it, before. */
bool chunk_seal(struct cursor *cursor);

/* Counts anew, for the child of a fork: who filled the chunk, or freed in it, may have been cut anywhere. */
void chunk_recount(struct cursor *cursor);

/* Counts the objects in a chunk by their codes; *bytes receives what they occupy. Exact but for what others allocate
 * and free in it meanwhile; they must not recycle it. */
uint32_t chunk_count(uint32_t first, size_t *bytes);

/* The granules that they occupy. */
uint32_t chunk_granules(uint32_t first);

/* Starts anew at the chunk's start: everything in it is dead. The holder. */
void chunk_reset(struct cursor *cursor);

/* Takes the cursor off its chunk, if it has one, which is the caller's now. So a cursor begins. */
void chunk_abandon(struct cursor *cursor);

/* Nothing more is allocated from the cursor's chunk. */
void chunk_freeze(struct cursor *cursor);

/* Gives the cursor's chunk, if it has one, to the depot: nothing in it is alive. */
void chunk_drop(struct cursor *cursor);

#endif
