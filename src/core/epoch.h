/* Epochs: their records, and the runs of memory that belong to each. What users do with them is scope.h.
 *
 * An epoch's word is one atomic: its generation, how many holds are not emptied (and one for who closes it), and its
 * state. Every change of state is a compare-and-swap of that word, or is made by the one who brought the count to 0.
 *
 *   FREE       nobody's; in the pool, or with a thread that keeps it warm
 *   OPEN       allocates and frees
 *   CLOSED     allocates no more; its holds are being emptied
 *   FINISHING  all are empty: who made that so treats the survivors
 *   DRAINING   waits for the frees of its survivors; the last pin retires the record
 *
 * A hold is a place from which one thread at a time allocates in an epoch: it has a cursor in a chunk, or, when the
 * epoch proved long-lived, a heap. Its `holder` is that thread, or HOLD_IDLE, or HOLD_TAKEN when it was emptied or is
 * about to be.
 *
 * Owns: the table of records, the pool of idle ones, and a bit for each record that is out of it. Records and holds are
 * never unmapped, and a hold stays with its record: who comes late may look. But only the holds that this life of the
 * record needed are linked. The value that names an epoch to users holds generation and index: a value of another
 * generation is stale.
 *
 * pins: one until DRAINING, one for each run that is linked. Runs are linked before anybody could find them empty.
 *
 * The card of the protocol is docs/protocols/epoch.md. Threads: any, inside a gate, but for what says otherwise. */
#ifndef TSLAB_CORE_EPOCH_H
#define TSLAB_CORE_EPOCH_H

#include <tslab/tslab.h>

#include "core/chunk.h"
#include "os/fatal.h"
#include "os/lock.h"

struct heap;
struct thread;
struct partial_list;

enum epoch_state { EPOCH_FREE, EPOCH_OPEN, EPOCH_CLOSED, EPOCH_FINISHING, EPOCH_DRAINING };

enum {
    EPOCH_STATE_MASK = 7,
    EPOCH_HELD_SHIFT = 3,
    EPOCH_HELD_ONE = 1 << EPOCH_HELD_SHIFT,
    EPOCH_ID_LIMIT = 1 << EPOCH_GENERATION_SHIFT,
    EPOCH_HELD_MOST = (1 << (EPOCH_GENERATION_SHIFT - EPOCH_HELD_SHIFT)) - 1,
    EPOCH_PROCESS = 1,
    EPOCH_LABEL_BYTES = 32,
};

#define HOLD_IDLE  ((struct thread *)0)
#define HOLD_TAKEN ((struct thread *)1)

/* A thread that enters what it is inside of already just counts; with another scope in between, it puts an *echo* on
 * top: a struct hold of the thread's alone, that is no place of the epoch, and stands for the one that `real` names. */
struct hold {
    /* What other threads look at, and what changes rarely. */
    _Alignas(CACHE_LINE) _Atomic(struct thread *) holder;
    _Atomic(struct hold *) next;      /* of the same epoch */
    struct epoch *epoch;              /* never changes, but in an echo */
    _Atomic(struct heap *) kept_heap; /* made when it was first needed */
    struct hold *real;                /* itself, but in an echo */
    /* The holder: */
    struct hold *serving; /* a hold of the epoch that serves handles, which this scope has, too; NULL: none */
    uint32_t nested;      /* how often the scope was entered once more; in an echo all times */
    uint32_t filled_kib;  /* of chunks and large runs, in this life of the epoch, while that matters (scope.c) */
    struct hold *outer;   /* the scope around this one */

    /* What the holder works with, on a line that others leave alone. */
    _Alignas(CACHE_LINE) struct cursor cursor;
    struct heap *heap;    /* NULL: fills chunks */
    uint64_t value;       /* of the epoch, when it was entered */
    struct hold *ambient; /* the hold in which plain malloc lands while this one is innermost; NULL: the process */
};

_Static_assert(sizeof(struct hold) == (size_t)2 * CACHE_LINE, "neighbours share no line");
_Static_assert(offsetof(struct hold, cursor) == CACHE_LINE, "who walks by does not touch what the holder works with");

/* Lines of its own: what others read of a record is not in the line of its neighbour, nor in that of its first hold. */
struct epoch {
    _Alignas(CACHE_LINE) atomic_u64 word;
    uint32_t id; /* index in the table; never changes */
    uint32_t affinity;
    _Atomic(struct partial_list *) partials; /* lists of partial slabs, one a class; NULL until there are slabs */
    struct lock lock;                        /* of the list of runs, and of which holds are linked */
    uint32_t runs;                           /* the first; the list is of_epoch in their descriptors */
    atomic_u32 pins;
    atomic_u64 recycled_runs;
    _Atomic(struct hold *) holds; /* of this life, the last of which is `first` */
    atomic_u32 chunks;            /* how many it has: linked, or with a hold */
    _Alignas(CACHE_LINE) struct hold first;
    struct hold *spare_holds; /* that earlier lives had beside it: TAKEN; under the lock */

    /* Written by who opens or closes it; reports may read them meanwhile. */
    atomic_u32 policy;
    atomic_u32 plain;    /* 1: plain malloc may land here */
    atomic_u32 reclaims; /* 1: when it is finished */
    atomic_u32 is_instance;
    atomic_u32 drains; /* 1: it had survivors when it was closed */
    atomic_u64 parent, instance;
    atomic_u64 opened_ms, closed_ms;
    atomic_u64 label[EPOCH_LABEL_BYTES / sizeof(uint64_t)];
    _Atomic(struct epoch *) handles; /* the epoch that serves its objects with handles, open while this one is */
    _Atomic(struct epoch *) owner;   /* of such an epoch: the one that it serves, and pins */

    struct epoch *next_idle; /* also links closed ones, for a moment, in the child of a fork */
};

_Static_assert(offsetof(struct epoch, first) == CACHE_LINE, "one line is read by all who come and go");

extern struct epoch epoch_process;

/* What records have counted that went back to the pool, written under its lock. `passed` is written with release once
 * the holds say 0: who acquires it first, and then adds up the holds, counts nothing twice. */
struct epoch_counters {
    _Alignas(CACHE_LINE) atomic_u64 drained; /* epochs that had survivors */
    atomic_u64 passed;                       /* granules */
};
extern struct epoch_counters epoch_counters;

/* One more chunk belongs to the epoch, or one less. */
always_inline void epoch_add_chunk(struct epoch *epoch)
{
    counter_add_shared(&epoch->chunks, 1);
}

always_inline void epoch_drop_chunk(struct epoch *epoch)
{
    counter_add_shared(&epoch->chunks, UINT32_MAX);
}

/* Granules that have been allocated in chunks by the present holds of a record, and are counted nowhere else. */
uint64_t epoch_passed(const struct epoch *epoch);

/* A hold of no epoch, without a chunk: stands where there is none, so that the fast path need not ask. Never changes.
 */
extern struct hold hold_none;

always_inline enum epoch_state epoch_word_state(uint64_t word)
{
    return (enum epoch_state)(word & EPOCH_STATE_MASK);
}

always_inline uint64_t epoch_word_held(uint64_t word)
{
    return (word & bit_mask(EPOCH_GENERATION_SHIFT)) >> EPOCH_HELD_SHIFT;
}

/* Whether a word, or a value, is of the same generation as another. */
always_inline bool epoch_same_generation(uint64_t a, uint64_t b)
{
    return (a ^ b) >> EPOCH_GENERATION_SHIFT == 0;
}

/* The generation of a word or a value, in its place; and a word in another state. */
always_inline uint64_t epoch_generation(uint64_t word)
{
    return word >> EPOCH_GENERATION_SHIFT << EPOCH_GENERATION_SHIFT;
}

always_inline uint64_t epoch_word_with(uint64_t word, enum epoch_state state)
{
    return (word & ~(uint64_t)EPOCH_STATE_MASK) | state;
}

always_inline uint64_t epoch_value(const struct epoch *epoch)
{
    return epoch_generation(load_plain(&epoch->word)) | epoch->id;
}

/* The epoch that serves the handles of this one; NULL when there is none (any more). */
always_inline struct epoch *epoch_serving(const struct epoch *epoch)
{
    struct epoch *handles = load_acquire(&epoch->handles);
    return unlikely(handles != NULL) && load_plain(&handles->owner) == epoch ? handles : NULL;
}

always_inline struct hold *epoch_first_hold(const struct epoch *epoch)
{
    return load_acquire(&epoch->holds);
}

always_inline struct hold *hold_next(const struct hold *hold)
{
    return load_acquire(&hold->next);
}

/* Makes an idle hold the holder's; false: it is not idle. */
always_inline bool hold_claim(struct hold *hold, struct thread *holder)
{
    struct thread *idle = HOLD_IDLE;
    return load_relaxed(&hold->holder) == HOLD_IDLE && cas_seq_cst(&hold->holder, &idle, holder);
}

/* The epoch's label as a string, and its length; and sets it, cut to fit. NULL: none. */
size_t epoch_label(const struct epoch *epoch, char label[EPOCH_LABEL_BYTES]);
void epoch_set_label(struct epoch *epoch, const char *label);

/* A relaxed look. */
always_inline bool epoch_is_open(const struct epoch *epoch)
{
    return epoch_word_state(load_plain(&epoch->word)) == EPOCH_OPEN;
}

/* Whether the epoch with this value is open, exactly. */
bool epoch_is_open_as(const struct epoch *epoch, uint64_t value);

/* Whether the survivors of the epoch die when it is finished. */
bool epoch_is_doomed(const struct epoch *epoch);

/* Why an epoch that is not open is refused: TSLAB_STALE or TSLAB_CLOSED. */
int epoch_refusal(uint64_t value);

/* The table of records, in blocks that are made as they are needed. */
enum {
    EPOCH_BLOCK_RECORDS = 1 << EPOCH_BLOCK_SHIFT,
    EPOCH_BLOCKS = TSLAB_SIM ? 1 : EPOCH_ID_LIMIT >> EPOCH_BLOCK_SHIFT,
    EPOCH_BLOCKS_ROOM = EPOCH_BLOCKS < 8 ? 8 : EPOCH_BLOCKS, /* whole cache lines */
    EPOCH_OUT_WORDS = (EPOCH_BLOCK_RECORDS + 63) / 64,
};

struct epoch_block {
    _Alignas(CACHE_LINE) atomic_u64 out[EPOCH_OUT_WORDS]; /* a bit a record: it is not in the pool */
    struct epoch records[EPOCH_BLOCK_RECORDS];
};

extern _Alignas(CACHE_LINE) _Atomic(struct epoch_block *) epoch_blocks[EPOCH_BLOCKS_ROOM];

/* The record with an index that is in use or was; NULL when there never was one. No gate. */
always_inline struct epoch *epoch_by_id(uint32_t id)
{
    if (unlikely(id <= EPOCH_PROCESS)) {
        return &epoch_process;
    }
    struct epoch_block *block =
        id >= EPOCH_BLOCKS * EPOCH_BLOCK_RECORDS ? NULL : load_acquire(&epoch_blocks[id >> EPOCH_BLOCK_SHIFT]);
    return unlikely(block == NULL) ? NULL : &block->records[id & (EPOCH_BLOCK_RECORDS - 1)];
}

/* The same where it is known that the record exists: the index is in a word of the engine. */
always_inline struct epoch *epoch_existing(uint32_t id)
{
    struct epoch *epoch = epoch_by_id(id);
    invariant(epoch != NULL);
    return epoch;
}

/* The record that a value names, if it is of its generation and not FREE; else NULL. No gate. */
struct epoch *epoch_by_value(uint64_t value);

/* Whether it serves the handles of another: such a one has no name that users are given. */
bool epoch_is_hidden(uint64_t value);

/* The first record with at least this index that is out of the pool: of an epoch that is not FREE, or kept warm by a
 * thread, or taken just now. NULL: there are no more. So all walks go over what is in use, not over what ever was: a
 * look at a word for each 16,384 records that there may be, and at the records that are out. The process is none of
 * them. What is taken or put back meanwhile may be found or not. No gate. */
struct epoch *epoch_next(uint32_t from);

/* Records that epoch_next has found since ever, where checks are on: tests count the steps of walks. */
extern atomic_u64 epoch_visits;

/* How many threads are inside, as of a look at each hold. No gate. */
uint32_t epoch_threads_inside(const struct epoch *epoch);

void epoch_start(void);

/* A FREE record of the pool, or a new one; NULL: no memory. Its hold is TAKEN; the cursor may be in a chunk. */
struct epoch *epoch_take_record(void);

/* Puts a FREE record back, whose holds have no chunk. */
void epoch_put_record(struct epoch *epoch);

/* The lists of partial slabs, one a class; NULL while there are none. No gate. */
always_inline struct partial_list *epoch_partials(const struct epoch *epoch)
{
    return load_acquire(&epoch->partials);
}

/* Makes a hold of zeroed memory one of the epoch, TAKEN and not linked. */
void hold_start(struct hold *hold, struct epoch *epoch);

/* Links a hold that earlier lives left, or a new one, TAKEN; NULL: no memory. Under the lock of the epoch. */
struct hold *epoch_link_hold(struct epoch *epoch);

/* The record is about to be FREE, and all holds are TAKEN: only the first stays linked. */
void epoch_unlink_holds(struct epoch *epoch);

/* Gives the chunk of a hold, if it has one, to the depot: nothing in it is alive, and no report is looking at it. */
void hold_drop_chunk(struct hold *hold);

/* Links a used run, so that the epoch knows it, and is pinned by it. */
void epoch_link_run(struct epoch *epoch, uint32_t first);

/* Unlinks a run that is empty, and is the caller's; it still pins the epoch. */
void epoch_unlink_run(struct epoch *epoch, uint32_t first);

/* Unlinks a run that is empty, has no tags any more, and is the caller's, recycles it, and drops its pin. */
void epoch_recycle_run(struct epoch *epoch, uint32_t first);

/* The same for a chunk, whose tags it clears. */
void epoch_recycle_chunk(struct epoch *epoch, uint32_t first);

/* Drops a pin; the last one retires the record. */
void epoch_unpin(struct epoch *epoch);

/* The forking thread is alone: all FREE records that are out, wherever they were, go to the pool. */
void epoch_gather_free(void);

#endif
