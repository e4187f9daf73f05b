#include "core/epoch.h"

#include "base/fatal.h"
#include "core/depot.h"
#include "core/meta.h"
#include "core/partial.h"

#include <string.h>

static struct partial process_partials[CLASS_LIMIT];

struct epoch epoch_process = { .id = EPOCH_PROCESS, .affinity = AFFINITY_PROCESS, .partial = process_partials };

struct hold hold_none = { .real = &hold_none, .cursor.start = NO_CHUNK };

_Atomic(struct epoch *) epoch_blocks[EPOCH_BLOCKS];

static struct {
    struct lock lock;
    struct epoch *idle; /* linked by next_idle */
    atomic_u32 limit;   /* records that were ever made have lower indices */
} epochs = { .lock = LOCK_INIT(RANK_EPOCHS), .limit = EPOCH_PROCESS + 1 };

static void partials_start(struct partial *partials)
{
    for (unsigned c = 0; c < CLASS_LIMIT; c++) {
        partials[c].lock.rank = RANK_LIST;
    }
}

void epoch_start(void)
{
    partials_start(process_partials);
    store_relaxed(&epoch_process.word, EPOCH_OPEN);
}

uint32_t epoch_limit(void)
{
    return load_acquire(&epochs.limit);
}

struct epoch *epoch_by_value(uint64_t value)
{
    const uint32_t id = (uint32_t)(value & bit_mask(EPOCH_GENERATION_SHIFT));
    if (id <= EPOCH_PROCESS) {
        return NULL;
    }
    struct epoch *epoch = epoch_by_id(id);
    if (epoch == NULL) {
        return NULL;
    }
    const uint64_t word = load_seq_cst(&epoch->word);
    return epoch_same_generation(word, value) && epoch_word_state(word) != EPOCH_FREE ? epoch : NULL;
}

bool epoch_is_hidden(uint64_t value)
{
    const struct epoch *epoch = epoch_by_value(value);
    return epoch != NULL && stat_get(&epoch->owner) != NULL;
}

/* Makes the record with the next index. Under the lock. */
static struct epoch *record_make(void)
{
    const uint32_t id = stat_get(&epochs.limit);
    if (id >= EPOCH_BLOCKS * EPOCH_BLOCK_RECORDS) {
        return NULL;
    }
    struct epoch *block = atomic_load_explicit(&epoch_blocks[id >> EPOCH_BLOCK_SHIFT], memory_order_relaxed);
    if (block == NULL) {
        block = meta_alloc(EPOCH_BLOCK_RECORDS * sizeof *block);
        if (block == NULL) {
            return NULL;
        }
        atomic_store_explicit(&epoch_blocks[id >> EPOCH_BLOCK_SHIFT], block, memory_order_release);
    }
    struct epoch *epoch = &block[id & (EPOCH_BLOCK_RECORDS - 1)];
    epoch->id = id;
    epoch->affinity = AFFINITY_EPOCH | id;
    epoch->lock.rank = RANK_RUNS;
    hold_start(&epoch->first, epoch);
    atomic_store_explicit(&epoch->holds, &epoch->first, memory_order_relaxed);
    store_release(&epochs.limit, id + 1);
    return epoch;
}

struct epoch *epoch_take_record(void)
{
    lock_acquire(&epochs.lock);
    struct epoch *epoch = epochs.idle;
    if (epoch != NULL) {
        epochs.idle = epoch->next_idle;
    } else {
        epoch = record_make();
    }
    lock_release(&epochs.lock);
    return epoch;
}

void epoch_put_record(struct epoch *epoch)
{
    lock_acquire(&epochs.lock);
    epoch->next_idle = epochs.idle;
    epochs.idle = epoch;
    lock_release(&epochs.lock);
}

size_t epoch_label(const struct epoch *epoch, char label[EPOCH_LABEL_BYTES])
{
    for (unsigned i = 0; i < EPOCH_LABEL_BYTES / sizeof(uint64_t); i++) {
        const uint64_t part = stat_get(&epoch->label[i]);
        memcpy(label + i * sizeof part, &part, sizeof part);
    }
    label[EPOCH_LABEL_BYTES - 1] = 0;
    return strlen(label);
}

void epoch_set_label(struct epoch *epoch, const char *label)
{
    char padded[EPOCH_LABEL_BYTES] = { 0 };
    if (label != NULL) {
        memcpy(padded, label, strnlen(label, EPOCH_LABEL_BYTES - 1));
    }
    for (unsigned i = 0; i < EPOCH_LABEL_BYTES / sizeof(uint64_t); i++) {
        uint64_t part;
        memcpy(&part, padded + i * sizeof part, sizeof part);
        stat_set(&epoch->label[i], part);
    }
}

bool epoch_need_partials(struct epoch *epoch)
{
    lock_acquire(&epoch->lock);
    bool there = epoch_partials(epoch) != NULL;
    if (!there) {
        struct partial *partials = meta_alloc(CLASS_LIMIT * sizeof *partials);
        there = partials != NULL;
        if (there) {
            partials_start(partials);
            atomic_store_explicit(&epoch->partial, partials, memory_order_release);
        }
    }
    lock_release(&epoch->lock);
    return there;
}

void epoch_link_run(struct epoch *epoch, uint32_t first)
{
    struct slab *run = &arena.slabs[first];
    lock_acquire(&epoch->lock);
    run->age_prev = 0;
    run->age_next = epoch->runs;
    if (epoch->runs != 0) {
        arena.slabs[epoch->runs].age_prev = first;
    }
    epoch->runs = first;
    (void)fetch_add_relaxed(&epoch->pins, 1);
    lock_release(&epoch->lock);
}

void epoch_unlink_run(struct epoch *epoch, uint32_t first)
{
    struct slab *run = &arena.slabs[first];
    lock_acquire(&epoch->lock);
    *(run->age_prev == 0 ? &epoch->runs : &arena.slabs[run->age_prev].age_next) = run->age_next;
    if (run->age_next != 0) {
        arena.slabs[run->age_next].age_prev = run->age_prev;
    }
    stat_add(&epoch->recycled_runs, 1);
    lock_release(&epoch->lock);
    store_relaxed(&run->word, SLAB_EMPTY);
}

void epoch_recycle_run(struct epoch *epoch, uint32_t first)
{
    epoch_unlink_run(epoch, first);
    depot_put(first, arena.slabs[first].units, false);
    epoch_unpin(epoch);
}

void hold_start(struct hold *hold, struct epoch *epoch)
{
    hold->epoch = epoch;
    hold->real = hold;
    chunk_abandon(&hold->cursor);
    atomic_store_explicit(&hold->holder, HOLD_TAKEN, memory_order_relaxed);
}

struct hold *epoch_link_hold(struct epoch *epoch)
{
    struct hold *hold = epoch->spare_holds;
    if (hold != NULL) {
        epoch->spare_holds = hold_next(hold);
    } else {
        hold = meta_alloc(sizeof *hold);
        if (hold == NULL) {
            return NULL;
        }
        hold_start(hold, epoch);
    }
    hold->heap = NULL;
    hold->filled_bytes = 0;
    store_release(&hold->next, epoch_first_hold(epoch));
    store_release(&epoch->holds, hold);
    return hold;
}

void epoch_unlink_holds(struct epoch *epoch)
{
    if (likely(epoch_first_hold(epoch) == &epoch->first)) {
        return;
    }
    lock_acquire(&epoch->lock);
    for (struct hold *hold = epoch_first_hold(epoch); hold != &epoch->first; hold = epoch_first_hold(epoch)) {
        invariant(stat_get(&hold->holder) == HOLD_TAKEN);
        store_release(&epoch->holds, hold_next(hold));
        store_release(&hold->next, epoch->spare_holds);
        epoch->spare_holds = hold;
    }
    lock_release(&epoch->lock);
}

void hold_drop_chunk(struct hold *hold)
{
    if (cursor_start(&hold->cursor) != NULL) {
        lock_acquire(&hold->epoch->lock);
        chunk_drop(&hold->cursor);
        lock_release(&hold->epoch->lock);
    }
}

/* An epoch that serves another's handles unpins that one, which serves none: two deep at most. */
/* NOLINTBEGIN(misc-no-recursion) */

/* Nothing refers to the epoch any more but its record. Its chunks are empty: they go to the depot, unless who closed it
 * keeps them warm (scope.h), and then it is not here that it retires. */
static void retire(struct epoch *epoch)
{
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        hold_drop_chunk(hold);
    }
    epoch_unlink_holds(epoch);
    struct epoch *owner = stat_get(&epoch->owner);
    const uint64_t word = stat_get(&epoch->word);
    store_seq_cst(&epoch->word, epoch_generation(word) | EPOCH_FREE);
    epoch_put_record(epoch);
    if (owner != NULL) {
        epoch_unpin(owner);
    }
}

void epoch_unpin(struct epoch *epoch)
{
    if (fetch_sub_seq_cst(&epoch->pins, 1) == 1) {
        retire(epoch);
    }
}

/* NOLINTEND(misc-no-recursion) */

void epoch_fork_child(void)
{
    epochs.idle = NULL;
    for (uint32_t id = EPOCH_PROCESS + 1; id < stat_get(&epochs.limit); id++) {
        struct epoch *epoch = epoch_existing(id);
        if (epoch_word_state(stat_get(&epoch->word)) == EPOCH_FREE) {
            hold_drop_chunk(&epoch->first);
            epoch_put_record(epoch);
        }
    }
}
