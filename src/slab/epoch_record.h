/* Epochs: their records, and the runs that belong to each. The calls of users are in scope.h.
 *
 * The word of an epoch is one atomic with its generation, its state and a count. The count is the number of holds that
 * are not emptied yet, plus one for the thread that will close the epoch. A thread changes the state by a
 * compare-and-swap of the word. The thread that brings the count to 0 may also change the state by a store.
 *
 *   FREE       no epoch; the record is in the pool, or a thread keeps it warm
 *   OPEN       allocates and frees
 *   CLOSED     allocates no more; its holds are being emptied
 *   FINISHING  all holds are empty; the thread that emptied the last one ends, counts or keeps the survivors
 *   DRAINING   waits for the frees of its survivors; the record retires when its last pin is dropped
 *
 * A hold is a place from which one thread at a time allocates in an epoch. It has a cursor in a chunk. When the epoch
 * has proved long-lived, it has a heap instead. `holder` is the thread that has the hold. HOLD_IDLE means that no
 * thread has it. HOLD_TAKEN means that the hold is emptied, or that a closing thread is about to empty it.
 *
 * Owns: the table of records, the pool of idle records, a bit for each record that is not in the pool, and the list of
 * each epoch's slabs, chunks and large blocks. Records and holds are never unmapped, and a hold stays with its record.
 * So a thread that still has an old value of an epoch can read both.
 *
 * The pages of idle records may go back to the system. Such a record then reads as zero: FREE, of generation 0. Its
 * next use begins with a generation above all those that such pages ever held. A record links only the holds that its
 * present epoch needed. Users name an epoch by a value of generation and index. A value of another generation is stale.
 *
 * Pins keep a record from retiring. An epoch has one pin until it is DRAINING, and one for each linked run. A run is
 * linked before any thread can find it empty, and unlinked before it goes to the depot.
 *
 * Invariants: a record in the pool is FREE, has no runs and no chunks, and its holds are TAKEN. A finished epoch has no
 * holder.
 *
 * The card of the protocol is docs/protocols/epoch.md. Threads: any, inside a gate, except where a function says
 * otherwise. */
#ifndef TSLAB_SLAB_EPOCH_RECORD_H
#define TSLAB_SLAB_EPOCH_RECORD_H

#include "base/build.h"

#include <tslab/tslab.h>

#include "common/quota.h"
#include "os/fatal.h"
#include "os/lock.h"
#include "slab/chunk.h"

struct handle_table;
struct heap;
struct thread;
struct partial_list;
struct text;

enum epoch_state { EPOCH_FREE, EPOCH_OPEN, EPOCH_CLOSED, EPOCH_FINISHING, EPOCH_DRAINING };

enum {
    EPOCH_STATE_MASK = 7,
    EPOCH_HELD_SHIFT = 3,
    EPOCH_HELD_ONE = 1 << EPOCH_HELD_SHIFT,
    EPOCH_ID_LIMIT = 1 << EPOCH_GENERATION_SHIFT,
    EPOCH_HELD_MOST = (1 << (EPOCH_GENERATION_SHIFT - EPOCH_HELD_SHIFT)) - 1,
    EPOCH_PROCESS = 1,
    EPOCH_LABEL_BYTES = LABEL_BYTES,
};

#define HOLD_TAKEN ((struct thread *)0) /* as in a record whose pages were given back */
#define HOLD_IDLE  ((struct thread *)1)

/* A hold, or a reentry of one. A thread that enters its innermost epoch once more only counts in the hold. If the
 * thread has entered another epoch in between, it puts a *reentry* on top of its scopes. An reentry is a struct hold
 * that belongs to this thread alone, and stands for the hold that `real` names. */
struct hold {
    /* Read by other threads, or rarely changed. */
    _Alignas(CACHE_LINE) _Atomic(struct thread *) holder;
    _Atomic(struct hold *) next; /* the next hold of the same epoch */
    struct epoch *epoch;         /* never changes, except in a reentry */
    struct hold *real;           /* the hold itself, except in a reentry */
    /* Private to the holder. */
    uint32_t nested;     /* how often the scope was entered once more; in a reentry, how often it was entered */
    uint16_t filled_kib; /* KiB of chunks and large runs in this life of the epoch, up to a limit (epoch_alloc.c) */
    bool outlives;       /* in this life of the epoch, a thread left it with objects in the chunk */
    struct hold *outer;  /* the scope around this one */
    uint32_t affinity;   /* of the slabs that its heaps are home to; 0: it had none yet. Never changes then */
    uint32_t free_entry,
        free_entries; /* the first of the entries for handles that it keeps, 0: none; and their number */
    uint32_t full;    /* the first of its full chunks, linked in their descriptors; 0: none. Changed in the gate */

    /* The holder's own, on a cache line that other threads leave alone. */
    _Alignas(CACHE_LINE) struct cursor cursor;
    _Atomic(struct heap *) heap; /* NULL: the hold fills chunks. A report reads it under the epoch's lock */
    uint64_t value;              /* the value of the epoch when it was entered */
    struct hold *ambient; /* the hold in which plain malloc lands while this one is innermost; NULL: the process */
};

_Static_assert(sizeof(struct hold) == (size_t)2 * CACHE_LINE, "neighbours share no line");
_Static_assert(offsetof(struct hold, cursor) == CACHE_LINE, "a walk over holds does not touch the holder's line");

/* Aligned to cache lines: what other threads read of a record shares no line with its neighbour or its first hold. */
struct epoch {
    _Alignas(CACHE_LINE) atomic_u64 word;
    uint32_t id; /* index in the table; never changes */
    uint32_t affinity;
    _Atomic(struct partial_list *) partials; /* lists of partial slabs, one a class; NULL until there are slabs */
    uint32_t runs;                           /* the first run; the list is of_epoch in their descriptors; 0: none */
    atomic_u32 pins;
    atomic_u64 recycled_runs;
    _Atomic(struct hold *) holds; /* the holds of this life; the last one of the list is `first` */
    atomic_u32 chunks;            /* the number of its chunks, linked or with a hold */
    _Alignas(CACHE_LINE) struct hold first;
    struct hold *spare_holds;        /* unlinked holds of earlier lives, all TAKEN; under the lock */
    atomic_u32 run_units;            /* the units of all linked runs; written under the lock */
    atomic_u32 peak_units;           /* the most that they were in this life. Written under the lock */
    atomic_u32 limit_units;          /* the most that they may be; 0: no limit */
    atomic_u64 refusals;             /* allocations of this life that failed because of a limit */
    struct quota *quota;             /* that of its instance; NULL: it is in none. Set when it is opened */
    struct quota own_quota;          /* of the instance whose root this is */
    struct label_quota *label_quota; /* that of its label; NULL: it has none. Set when it is opened */

    /* Written by the thread that opens or closes the epoch. Reports may read them meanwhile. */
    atomic_u32 policy;
    atomic_u32 plain;       /* 1: plain malloc may land here */
    atomic_u32 reclaims;    /* 1: its end gives empty memory back to the system */
    atomic_u32 is_instance; /* 1: it is the root of an instance */
    atomic_u32 drains;      /* 1: it had survivors when it was closed */
    atomic_u32 quota_users; /* of a root: the records whose `root` it is. Written under the pool's lock */
    atomic_u64 parent, instance;
    atomic_u64 opened_ms, closed_ms;
    atomic_u64 label[EPOCH_LABEL_BYTES / sizeof(uint64_t)];
    _Atomic(struct handle_table *) handles; /* its objects with handles; NULL until there are some */

    struct epoch *next_idle; /* links warm records, and, in the child of a fork, closed epochs for a moment */
    struct epoch *root; /* the record with the quota of its instance, also while it is warm; NULL: it has none. Written
                           by the thread that has the record */
};

_Static_assert(offsetof(struct epoch, first) == CACHE_LINE, "threads that come and go read one line");

extern struct epoch epoch_process;

/* The lock that guards an epoch's list of runs, and which holds are linked. Locks are apart from records, because a
 * thread that comes late takes the lock of a record whose pages were given back. Records share them, and no thread
 * takes two. */
enum { EPOCH_LOCKS = 64 };
struct epoch_lock {
    _Alignas(CACHE_LINE) struct lock lock;
    struct lock holds; /* held by a thread that empties an idle hold of an open epoch (hold_put_away) */
};
extern struct epoch_lock epoch_locks[EPOCH_LOCKS];

always_inline struct lock *epoch_lock(const struct epoch *epoch)
{
    return &epoch_locks[(uintptr_t)epoch / sizeof *epoch % EPOCH_LOCKS].lock;
}

always_inline struct lock *epoch_holds_lock(const struct epoch *epoch)
{
    return &epoch_locks[(uintptr_t)epoch / sizeof *epoch % EPOCH_LOCKS].holds;
}

/* The counts of records that went back to the pool, written under its lock. `allocated_granules` is written with
 * release after the counts of the holds were set to 0. So a reader that acquires it first and then adds up the holds
 * counts nothing twice. */
struct epoch_counters {
    _Alignas(CACHE_LINE) atomic_u64 drained; /* epochs that had survivors */
    atomic_u64 allocated_granules;           /* granules that were allocated in chunks */
};
extern struct epoch_counters epoch_counters;

/* Count a chunk that the epoch gets or gives away. */
always_inline void epoch_add_chunk(struct epoch *epoch)
{
    counter_add_shared(&epoch->chunks, 1);
}

always_inline void epoch_drop_chunk(struct epoch *epoch)
{
    invariant(counter_get(&epoch->chunks) != 0);
    counter_add_shared(&epoch->chunks, UINT32_MAX);
}

/* Notes which limit refuses so many units. */
void epoch_refuses(struct epoch *epoch, uint32_t units);

/* Whether the epoch may have so many units more. Threads that ask at the same moment may get a little more.
 * epoch_may_grow is for what can be done without. Where epoch_allows says no, it notes the refusal (limit.h). */
static inline bool epoch_may_grow(const struct epoch *epoch, uint32_t units)
{
    const uint32_t limit = load_plain(&epoch->limit_units);
    return (likely(limit == 0) || (uint64_t)counter_get(&epoch->run_units) + units <= limit) &&
           (likely(epoch->quota == NULL) || quota_allows(epoch->quota, units)) &&
           (likely(epoch->label_quota == NULL) || quota_allows(&epoch->label_quota->quota, units));
}

static inline bool epoch_allows(struct epoch *epoch, uint32_t units)
{
    const bool allows = epoch_may_grow(epoch, units);
    if (unlikely(!allows)) {
        epoch_refuses(epoch, units);
    }
    return allows;
}

/* Counts that the epoch's runs have become longer or shorter. Under its lock. */
static inline void epoch_count_units(struct epoch *epoch, uint32_t before, uint32_t after)
{
    const uint32_t units = counter_get(&epoch->run_units) - before + after;
    invariant(lock_is_held(epoch_lock(epoch)) && counter_get(&epoch->run_units) >= before);
    counter_set(&epoch->run_units, units);
    if (units > counter_get(&epoch->peak_units)) {
        counter_set(&epoch->peak_units, units);
    }
    if (unlikely(epoch->quota != NULL)) {
        quota_change(epoch->quota, before, after);
    }
    if (unlikely(epoch->label_quota != NULL)) {
        label_quota_change(epoch->label_quota, before, after);
    }
}

/* The granules that the linked holds of a record have allocated in chunks and that are counted nowhere else. */
uint64_t epoch_granules_allocated(const struct epoch *epoch);

/* A hold of no epoch, without a chunk. It stands where there is none, so that the fast path needs no test. Never
 * changes. */
extern struct hold hold_none;

always_inline enum epoch_state epoch_word_state(uint64_t word)
{
    return (enum epoch_state)(word & EPOCH_STATE_MASK);
}

always_inline uint64_t epoch_word_held(uint64_t word)
{
    return (word & bit_mask(EPOCH_GENERATION_SHIFT)) >> EPOCH_HELD_SHIFT;
}

/* Whether two words or values are of the same generation. */
always_inline bool epoch_same_generation(uint64_t a, uint64_t b)
{
    return (a ^ b) >> EPOCH_GENERATION_SHIFT == 0;
}

/* A word or value with only its generation left, and a word with another state. */
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

always_inline struct hold *epoch_first_hold(const struct epoch *epoch)
{
    return load_acquire(&epoch->holds);
}

always_inline struct hold *hold_next(const struct hold *hold)
{
    return load_acquire(&hold->next);
}

/* Claims an idle hold for a thread. False: the hold is not idle. */
always_inline bool hold_claim(struct hold *hold, struct thread *holder)
{
    struct thread *idle = HOLD_IDLE;
    invariant(holder != HOLD_IDLE && holder != HOLD_TAKEN);
    return load_relaxed(&hold->holder) == HOLD_IDLE && cas_seq_cst(&hold->holder, &idle, holder);
}

/* Copies the epoch's label as a string and returns its length. */
size_t epoch_label(const struct epoch *epoch, char label[EPOCH_LABEL_BYTES]);

/* Names an epoch by its label, or by its value where that is empty. */
void epoch_text(struct text *text, const char *label, uint64_t value);

/* Sets the label, cut to fit. NULL: no label. */
void epoch_set_label(struct epoch *epoch, const char *label);

/* A relaxed look: the answer may be out of date. */
always_inline bool epoch_is_open(const struct epoch *epoch)
{
    return epoch_word_state(load_plain(&epoch->word)) == EPOCH_OPEN;
}

/* Whether the epoch with this value is open. An exact look. */
bool epoch_is_open_as(const struct epoch *epoch, uint64_t value);

/* Whether the survivors of the epoch die when it is finished. */
bool epoch_is_doomed(const struct epoch *epoch);

/* Why an epoch that is not open is refused: TSLAB_STALE or TSLAB_CLOSED. */
int epoch_refusal(uint64_t value);

/* The table of records. Its blocks are made as they are needed. */
enum {
    EPOCH_BLOCK_RECORDS = 1 << EPOCH_BLOCK_SHIFT,
    EPOCH_BLOCKS = TSLAB_SIM ? 1 : EPOCH_ID_LIMIT >> EPOCH_BLOCK_SHIFT,
    EPOCH_BLOCKS_ROOM = EPOCH_BLOCKS < 8 ? 8 : EPOCH_BLOCKS, /* whole cache lines */
    EPOCH_OUT_WORDS = (EPOCH_BLOCK_RECORDS + 63) / 64,
};

struct epoch_block {
    _Alignas(CACHE_LINE) atomic_u64 out[EPOCH_OUT_WORDS]; /* bit set: that record is out of the pool */
    atomic_u64 idle[EPOCH_OUT_WORDS];                     /* it is in the pool. Under the pool's lock */
    atomic_u64 gone[EPOCH_OUT_WORDS];                     /* and pages of it were given back. Written under the lock */
    struct epoch records[EPOCH_BLOCK_RECORDS];
};

extern _Alignas(CACHE_LINE) _Atomic(struct epoch_block *) epoch_blocks[EPOCH_BLOCKS_ROOM];

/* The record with this index. NULL: there never was one. No gate. */
always_inline struct epoch *epoch_by_id(uint32_t id)
{
    if (unlikely(id <= EPOCH_PROCESS)) {
        return &epoch_process;
    }
    struct epoch_block *block =
        id >= EPOCH_BLOCKS * EPOCH_BLOCK_RECORDS ? NULL : load_acquire(&epoch_blocks[id >> EPOCH_BLOCK_SHIFT]);
    return unlikely(block == NULL) ? NULL : &block->records[id & (EPOCH_BLOCK_RECORDS - 1)];
}

/* The same for an index that comes from a word of the engine: the record exists. */
always_inline struct epoch *epoch_existing(uint32_t id)
{
    struct epoch *epoch = epoch_by_id(id);
    invariant(epoch != NULL);
    return epoch;
}

/* The record that a value names, if it is of the same generation and not FREE; else NULL. No gate. */
struct epoch *epoch_by_value(uint64_t value);

/* The first record from the index *at on that is out of the pool: its epoch is not FREE, or a thread keeps it warm, or
 * it was taken just now. *at receives the index behind it. NULL: there are no more. So a walk costs a look at one word
 * for every 16,384 records that there may be, and at the records that are out, however many records were ever made. The
 * process is none of them. A record that is taken or put back meanwhile may be found or not. No gate. */
struct epoch *epoch_next(uint32_t *at);

/* Makes the record of an instance's root the `root` of another one, and keeps its pages meanwhile. 0: there is none, as
 * for an instance that is over. In the gate of the thread that has the record. */
void epoch_set_root(struct epoch *epoch, uint64_t instance);

/* Gives pages of some idle records back to the system, and adds their bytes to *given. Returns whether there are more.
 * In a gate, or with the keeper's lock. */
bool epoch_purge_idle(size_t *given);

/* The bytes of records on pages that were given back, or never written to. Any thread, no gate: a look. */
uint64_t epoch_records_gone_bytes(void);

/* In checked builds, the number of records that epoch_next has found. Tests count the steps of walks with it. */
extern atomic_u64 epoch_visits;

/* How many threads are inside, by one look at each hold. No gate. */
uint32_t epoch_threads_inside(const struct epoch *epoch);

/* A FREE record of the pool, or a new one. Its hold is TAKEN. NULL: no memory. */
struct epoch *epoch_take_record(void);

/* Puts a FREE record back to the pool. It has no runs, and its holds have no chunk. */
void epoch_put_record(struct epoch *epoch);

/* Warm records are FREE, out of the pool, and may have an empty chunk each. They are linked by next_idle.
 * epoch_pass_warm leaves n of them for any thread, false: enough wait there. epoch_take_warm takes at most so many;
 * NULL: there are none. epoch_flush_warm puts a list of them into the pool and their chunks into the depot. In the
 * gate. */
bool epoch_pass_warm(struct epoch *first, uint32_t n);
struct epoch *epoch_take_warm(uint32_t most, uint32_t *n);
void epoch_flush_warm(struct epoch *warm);
void epoch_flush_shared_warm(void);

/* The lists of partial slabs, one for each class. NULL: there are none yet. No gate. */
always_inline struct partial_list *epoch_partials(const struct epoch *epoch)
{
    return load_acquire(&epoch->partials);
}

/* Makes zeroed memory a hold of the epoch. The hold is TAKEN and not linked. */
void hold_start(struct hold *hold, struct epoch *epoch);

/* Links one more hold, TAKEN: a spare one of earlier lives, or a new one. NULL: what is mapped has no room for one
 * (metadata_ahead). Under the epoch's lock. */
struct hold *epoch_link_hold(struct epoch *epoch);

/* Unlinks all holds but the first. The record is about to be FREE, and all holds are TAKEN. */
void epoch_unlink_holds(struct epoch *epoch);

/* Gives the chunk of a TAKEN hold, if it has one, to the depot. Nothing in the chunk is alive. */
void hold_drop_chunk(struct hold *hold);

/* In the child of a fork, where one thread is left: puts all FREE records that are out of the pool back. */
void epoch_gather_free(void);

/* The runs of an epoch, each of which pins its record. */

/* Links a used run to the epoch. The run pins the epoch. */
void epoch_link_run(struct epoch *epoch, uint32_t first);

/* Unlinks an empty run that the caller owns. The run still pins the epoch. */
void epoch_unlink_run(struct epoch *epoch, uint32_t first);

/* Unlinks a run, recycles it, and drops its pin. The run is empty, has no tags, and belongs to the caller. */
void epoch_recycle_run(struct epoch *epoch, uint32_t first);

/* The same for a chunk, whose tags it clears first. */
void epoch_recycle_chunk(struct epoch *epoch, uint32_t first);

/* Drops a pin. The last one retires the record. */
void epoch_unpin(struct epoch *epoch);

#endif
