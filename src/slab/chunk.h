/* A chunk: a run of units that an epoch fills with objects of mixed sizes, one after another.
 *
 * Out of line there is a byte for each granule (size_codes.h): the size code of the object that starts there. It is 0
 * where no object starts, and after the object's free. The code gives the usable size, tells a start from an interior
 * pointer, and shows a double free.
 *
 * A chunk counts granules, not objects, so that allocating counts by advancing the cursor: all granules that the cursor
 * has passed live, except those that were freed. The number of objects follows from the codes.
 *
 * A chunk is open, then full, then closed. One holder at a time fills an open chunk (epoch_record.h). It writes and
 * clears codes by plain stores, and counts in its cursor. A full chunk is filled no more, and still belongs to the hold
 * that filled it (`filler`): its holder frees there by plain stores, too, and counts in `unfreed`. Every other thread
 * clears a code by a swap, and subtracts its granules from `live` of the descriptor. Until the chunk is closed, `live`
 * is CHUNK_OPEN less the granules that other threads freed. Once it is closed, which is before the holder leaves,
 * `live` is the granules of the objects in it. The thread that brings it to 0 owns the chunk.
 *
 * Where few objects are left in a closed chunk, the purger moves their codes to the descriptor (`kept`), and the
 * table's page goes. CODE_KEPT in the table sends whoever frees the object there, and 0 does so once all have been
 * moved.
 *
 * `full` of the descriptor tells how many granules were filled; 0: the chunk is open. The pages that the cursor reaches
 * are noted (pages.h) when it leaves the chunk, moves back or starts anew in it.
 *
 * Invariants:
 *
 *   - The codes of a run that is no chunk are 0.
 *   - The place of a freed object is not used again before the whole chunk is empty.
 *   - Objects are dense, except for granules that alignment skips.
 *
 * The protocol's card is docs/protocols/epoch.md. Threads: the holder where a function says so, else any. */
#ifndef TSLAB_SLAB_CHUNK_H
#define TSLAB_SLAB_CHUNK_H

#include "common/misuse.h"
#include "slab/size_codes.h"
#include "slab/slab.h"

struct hold;

enum {
    CHUNK_BYTES = CHUNK_UNITS * UNIT_BYTES,
    CHUNK_GRANULES = CHUNK_BYTES / GRANULE_BYTES,
    CHUNK_OPEN = 1 << 30,
    CHUNK_ALIGN_MOST = 4096,
};

enum { CODE_KEPT = 255, CODE_MASK = 255, KEPT_SHIFT = 8 };

_Static_assert(CHUNK_OBJECT_MOST <= CODE_EXACT_BYTES + (CODE_KEPT - 1 - CODE_EXACT) * CODE_STEP_BYTES,
               "a code is a byte, and none is CODE_KEPT");

/* Where a holder fills a chunk. Positions are addresses / GRANULE_BYTES. */
struct cursor {
    atomic_u64 at;    /* start of the free rest of the chunk; 0: no chunk */
    uint64_t end;     /* end of the free rest; 0: no chunk */
    atomic_u64 start; /* start of the chunk, or NO_CHUNK */
    atomic_u64 freed; /* start plus the granules that the holder freed or skipped. It equals `at` when all are freed */
    atomic_u64 allocated_granules; /* granules used in chunks that it left, or in which it started anew */
};

/* `start` of a cursor without a chunk. No granule lies less than a chunk beyond it. */
#define NO_CHUNK ((uint64_t)1 << (63 - GRANULE_SHIFT))

/* The start of the cursor's chunk; NULL when it has none. */
always_inline char *cursor_start(const struct cursor *cursor)
{
    const uint64_t start = load_plain(&cursor->start);
    return start == NO_CHUNK ? NULL : (char *)(start << GRANULE_SHIFT);
}

/* The granule that starts at p. Where none starts there, the rotation moves the misaligned bits to the top, and the
 * result lies in no chunk. */
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
    invariant(code != 0 && size_code_granules(code) == granules);
    invariant(load_plain(arena.codes_of_zero + at) == 0);
    store_plain(&cursor->at, at + granules);
    store_plain(arena.codes_of_zero + at, (uint8_t)code);
    void *const p = (void *)(at << GRANULE_SHIFT);
    if (p == NULL) {
        __builtin_unreachable(); /* so that callers do not test p again */
    }
    return p;
}

/* Allocates the next object of the chunk. NULL when size is 0 or above CODE_EXACT_BYTES, or it does not fit. The
 * holder. */
always_inline void *chunk_alloc_small(struct cursor *cursor, size_t size)
{
    const uint64_t granules = (size + GRANULE_BYTES - 1) >> GRANULE_SHIFT; /* 0 where the sum overflows */
    if (unlikely(granules - 1 >= CODE_EXACT)) {
        return NULL;
    }
    return chunk_bump(cursor, granules, (unsigned)granules);
}

/* Allocates the next object of the chunk, of at most CHUNK_OBJECT_MOST bytes. NULL when it does not fit. The holder. */
always_inline void *chunk_alloc(struct cursor *cursor, size_t size)
{
    invariant(size <= CHUNK_OBJECT_MOST);
    const unsigned code = size_code_of_size(size);
    return chunk_bump(cursor, size_code_granules(code), code);
}

/* The same, at a multiple of alignment, a power of two from GRANULE_BYTES to CHUNK_ALIGN_MOST. */
void *chunk_alloc_aligned(struct cursor *cursor, size_t size, size_t alignment);

/* Whether p is the start of a granule in the cursor's chunk. */
always_inline bool chunk_is_own(const struct cursor *cursor, const void *p)
{
    return granule_at(p) - load_plain(&cursor->start) < CHUNK_GRANULES;
}

/* Starts anew at the chunk's start if the chunk is empty: called when the holder has freed all that it allocated. */
void chunk_try_reset(struct cursor *cursor);

/* Frees the object of a code: what the frees of the holder have in common. */
always_inline void chunk_take_back(struct cursor *cursor, atomic_u8 *code, uint64_t granules)
{
    store_plain(code, 0);
    const uint64_t freed = load_plain(&cursor->freed) + granules;
    invariant(granules != 0 && freed <= load_plain(&cursor->at));
    store_plain(&cursor->freed, freed);
    if (unlikely(freed == load_plain(&cursor->at))) {
        chunk_try_reset(cursor);
    }
}

/* Frees an object of the cursor's chunk, of at most CODE_EXACT_BYTES. False: no such object starts at p. The holder. */
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
    invariant(chunk_is_own(cursor, p));
    atomic_u8 *const code = size_code_at(p);
    const unsigned found = load_plain(code);
    if (unlikely(found == 0)) {
        misuse_no_object(p);
    }
    chunk_take_back(cursor, code, size_code_granules(found));
}

enum { CHUNK_NOT_FULL = UINT32_MAX };

/* Frees an object of a full chunk of the hold. Returns the granules there that are not freed: with 0, the chunk is
 * empty, and the caller must recycle it. CHUNK_NOT_FULL: p is no object of a full chunk of this hold. p lies in a
 * chunk. The holder. */
always_inline uint32_t chunk_free_full(const struct hold *hold, void *p)
{
    struct run *const chunk = &arena.runs[arena.units[arena_unit(p)].first];
    invariant(arena_tag(p) == TAG_CHUNK);
    if (load_plain(&chunk->chunk.filler) != hold || (uintptr_t)p % GRANULE_BYTES != 0) {
        return CHUNK_NOT_FULL;
    }
    atomic_u8 *const code = size_code_at(p);
    const uint32_t granules = size_code_granules(load_plain(code));
    if (unlikely(granules == 0)) {
        return CHUNK_NOT_FULL;
    }
    const uint32_t unfreed = load_plain(&chunk->chunk.unfreed) - granules;
    invariant(unfreed < CHUNK_GRANULES);
    store_plain(code, 0);
    store_plain(&chunk->chunk.unfreed, unfreed);
    return unfreed;
}

/* Frees an object of a chunk that the caller does not fill. True: it was the last one, and the caller owns the chunk
 * and must recycle it. A fork may come between the two writes, so the caller notes the chunk first (thread.h). */
bool chunk_free_other(void *p);

/* The code of the object that starts at p, which lies in a chunk. 0: none does. */
unsigned chunk_code(const void *p);

/* The first object in a chunk from a granule on: returns where it starts, counted from the chunk's start, and sets its
 * granules. CHUNK_GRANULES: there is none. Exact as chunk_count. */
uint32_t chunk_next(uint32_t first, uint32_t from, uint32_t *granules);

/* The usable size of the object at p. Ends the program when no object starts there. */
size_t chunk_usable(const void *p);

/* Resizes the object at p, in the cursor's chunk, to `size` bytes without moving it. False when it cannot. The holder.
 */
bool chunk_resize(struct cursor *cursor, void *p, size_t size);

/* For the purger of free pages. Pins a closed chunk that has objects, and of which some died since it was pinned last.
 * Under the lock of its epoch, in whose list it is. False: it is none. Nobody recycles it until it is unpinned: true,
 * the last object died meanwhile, and the chunk is the caller's. */
bool chunk_pin(uint32_t first);
bool chunk_unpin(uint32_t first);

/* Gives back the pages of a pinned chunk on which no object lives: in a closed chunk none ever will. Moves the codes to
 * the descriptor where they are few, and gives back those of the table. Returns the bytes given back, without these. */
size_t chunk_purge(uint32_t first);

/* Whether the table has the codes of a chunk. If not, they are in its descriptor. */
static inline bool chunk_has_table(uint32_t first)
{
    return load_acquire(&arena.runs[first].chunk.has_kept) == 0;
}

/* Makes a run from the depot, of CHUNK_UNITS, the chunk of a cursor that has none. */
void chunk_open(struct cursor *cursor, uint32_t first, uint32_t epoch);

/* Takes an empty chunk from its cursor. It becomes that of another cursor, or goes to the depot. */
uint32_t chunk_take(struct cursor *cursor);
void chunk_pass(struct cursor *cursor, uint32_t first, uint32_t epoch);
void chunk_recycle(uint32_t first);

/* Whether no object in the cursor's chunk lives, and no thread is about to free in it. */
bool chunk_is_empty(const struct cursor *cursor);

/* Whether the chunk ends for the cursor where the next object is sampled. */
bool chunk_is_cut(const struct cursor *cursor);

/* Lets the cursor of such a chunk pass that end with an object of so many bytes. True: the object is sampled, and finds
 * room. The holder. */
bool chunk_pass_cut(struct cursor *cursor, size_t size, size_t alignment);

/* Detaches the cursor from its chunk, which is full from now on. The holder. */
void chunk_end(struct cursor *cursor, struct hold *hold);

/* Closes a full chunk. True: it is empty, and the caller owns it and must recycle it. False: the thread that frees the
 * last object will own it. The caller has linked the run before, where that thread looks for it. The holder. */
bool chunk_close(uint32_t first);

/* Whether a thread without the hold has freed in a full chunk, and whether a quarter of what was filled there is dead.
 * The holder. */
bool chunk_is_shared(uint32_t first);
bool chunk_is_sparse(uint32_t first);

/* Count anew, for the child of a fork: threads that filled the chunk, or freed in it, may have been interrupted
 * anywhere. The chunk of a cursor, and a full one. */
void chunk_recount(struct cursor *cursor);
void chunk_recount_full(uint32_t first);

/* Counts the objects in a chunk by their codes. *bytes receives the bytes that they occupy. Exact, except for objects
 * that other threads allocate and free meanwhile. They must not recycle the chunk. */
uint32_t chunk_count(uint32_t first, size_t *bytes);

/* Ends all objects in a full or closed chunk that nobody else reaches. */
void chunk_end_objects(uint32_t first);

/* The granules that the objects in a chunk occupy, counted in the same way. */
uint32_t chunk_granules(uint32_t first);

/* Starts anew at the chunk's start. All objects in it are dead. The holder. */
void chunk_reset(struct cursor *cursor);

/* Detaches the cursor. The caller owns its chunk, if it had one. Also initialises a new cursor. */
void chunk_abandon(struct cursor *cursor);

/* Lets nothing more be allocated from the cursor's chunk. */
void chunk_freeze(struct cursor *cursor);

/* Gives the cursor's chunk, if it has one, to the depot. All objects in it are dead. */
void chunk_drop(struct cursor *cursor);

#endif
