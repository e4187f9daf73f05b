/* Records live in blocks of a table. Two levels of bits say which ones are out of the pool, so that walks visit those
 * alone, and which ones are in it. */
#include "slab/epoch_record.h"

#include "common/metadata.h"
#include "common/trace.h"
#include "os/os.h"
#include "os/text.h"
#include "slab/handle_table.h"
#include "space/depot.h"
#include "space/limit.h"

#include <string.h>

struct epoch_counters epoch_counters;

struct epoch epoch_process = { .word = EPOCH_OPEN, .id = EPOCH_PROCESS, .affinity = AFFINITY_PROCESS };

_Alignas(CACHE_LINE) struct hold hold_none = { .real = &hold_none, .cursor.start = NO_CHUNK };

_Alignas(CACHE_LINE) _Atomic(struct epoch_block *) epoch_blocks[EPOCH_BLOCKS_ROOM];

atomic_u64 epoch_visits;

struct epoch_lock epoch_locks[EPOCH_LOCKS] = { [0 ... EPOCH_LOCKS - 1] = { .lock = LOCK_INIT(RANK_RUNS),
                                                                           .holds = LOCK_INIT(RANK_HOLDS) } };

enum { BLOCK_WORDS = (EPOCH_BLOCKS + 63) / 64 };

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    struct epoch *warm;                   /* FREE records with their chunks, out of the pool, for any thread */
    uint32_t warm_count;                  /* how many these are */
    atomic_u32 limit;                     /* all records that were ever made have lower indices */
    uint64_t generation;                  /* no record whose pages were given back had a later one */
    atomic_u64 blocks_out[BLOCK_WORDS];   /* bit set: that block has records that are out of the pool */
    atomic_u64 blocks_idle[BLOCK_WORDS];  /* it has records that are in the pool */
    atomic_u64 blocks_there[BLOCK_WORDS]; /* records that may go came since the block's pages were given back */
} epochs = { .lock = LOCK_INIT(RANK_EPOCHS), .limit = EPOCH_PROCESS + 1 };

static void set_bit(atomic_u64 *words, uint32_t number, bool set)
{
    const uint64_t bit = (uint64_t)1 << number % 64, word = load_plain(&words[number / 64]);
    store_release(&words[number / 64], set ? word | bit : word & ~bit);
}

static bool has_bits(const atomic_u64 *words)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < EPOCH_OUT_WORDS; i++) {
        any |= load_plain(&words[i]);
    }
    return any != 0;
}

/* Records whether a record is out of the pool, or in it. The bits change under the lock, and walks read them without
 * it. A store that clears a bit is a release, too: a walk may see in it the bits that earlier stores have set, and then
 * reads the records of those bits. */
static void record_set_out(struct epoch_block *block, uint32_t id, bool out)
{
    const uint32_t number = id >> EPOCH_BLOCK_SHIFT, at = id & (EPOCH_BLOCK_RECORDS - 1);
    invariant(lock_is_held(&epochs.lock) && (load_plain(&block->out[at / 64]) >> at % 64 & 1) != out);
    set_bit(block->out, at, out);
    set_bit(epochs.blocks_out, number, has_bits(block->out));
    set_bit(block->idle, at, !out);
    set_bit(epochs.blocks_idle, number, has_bits(block->idle));
    if (!out) {
        set_bit(epochs.blocks_there, number, true);
    }
}

/* The first set bit at or after `from` in `count` words. If there is none, the number of bits in the words. */
static uint32_t next_bit(const atomic_u64 *words, uint32_t count, uint32_t from)
{
    for (uint32_t at = from; at < count * 64; at = (at / 64 + 1) * 64) {
        const uint64_t bits = load_acquire(&words[at / 64]) >> at % 64;
        if (bits != 0) {
            return at + bit_lowest(bits);
        }
    }
    return count * 64;
}

struct epoch *epoch_next(uint32_t *at)
{
    const uint32_t words = ((load_acquire(&epochs.limit) - 1) >> EPOCH_BLOCK_SHIFT) / 64 + 1;
    uint32_t inside = *at & (EPOCH_BLOCK_RECORDS - 1), number = *at >> EPOCH_BLOCK_SHIFT;
    for (uint32_t found; (found = next_bit(epochs.blocks_out, words, number)) < words * 64; inside = 0) {
        struct epoch_block *block = load_acquire(&epoch_blocks[found]);
        inside = next_bit(block->out, EPOCH_OUT_WORDS, found == number ? inside : 0);
        number = found + 1;
        if (inside < EPOCH_BLOCK_RECORDS) {
            *at = (found << EPOCH_BLOCK_SHIFT) + inside + 1;
            if (TSLAB_CHECKED) {
                counter_add_shared(&epoch_visits, 1);
            }
            return &block->records[inside];
        }
    }
    return NULL;
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

static bool record_is_gone(const struct epoch_block *block, uint32_t at)
{
    invariant(at < EPOCH_BLOCK_RECORDS);
    return (load_plain(&block->gone[at / 64]) >> at % 64 & 1) != 0;
}

/* Begins a record in memory that is zero, or that was given back in part. */
static void record_begin(struct epoch *epoch, uint32_t id)
{
    invariant(lock_is_held(&epochs.lock) && epoch->spare_holds == NULL && load_plain(&epoch->pins) == 0);
    store_plain(&epoch->word, epochs.generation << EPOCH_GENERATION_SHIFT | EPOCH_FREE);
    epoch->id = id;
    epoch->affinity = AFFINITY_EPOCH | id;
    hold_start(&epoch->first, epoch);
    store_plain(&epoch->holds, &epoch->first);
}

/* Makes the record with the next index. NULL: there are no more, or what is mapped has no room. Under the lock. */
static struct epoch *record_make(void)
{
    const uint32_t id = load_plain(&epochs.limit);
    if (id >= EPOCH_BLOCKS * EPOCH_BLOCK_RECORDS) {
        return NULL;
    }
    struct epoch_block *block = load_plain(&epoch_blocks[id >> EPOCH_BLOCK_SHIFT]);
    if (block == NULL) {
        block = metadata_take(sizeof *block);
        if (block == NULL) {
            return NULL;
        }
        store_release(&epoch_blocks[id >> EPOCH_BLOCK_SHIFT], block);
    }
    struct epoch *const epoch = &block->records[id & (EPOCH_BLOCK_RECORDS - 1)];
    record_begin(epoch, id);
    record_set_out(block, id, true);
    store_release(&epochs.limit, id + 1);
    return epoch;
}

/* Takes the record with the lowest index out of the pool, so that those in use lie in few pages. NULL: there is none.
 * Under the lock. */
static struct epoch *record_take_idle(void)
{
    const uint32_t number = next_bit(epochs.blocks_idle, BLOCK_WORDS, 0);
    invariant(lock_is_held(&epochs.lock));
    if (number >= EPOCH_BLOCKS) {
        return NULL;
    }
    struct epoch_block *const block = load_plain(&epoch_blocks[number]);
    const uint32_t at = next_bit(block->idle, EPOCH_OUT_WORDS, 0), id = (number << EPOCH_BLOCK_SHIFT) + at;
    invariant(at < EPOCH_BLOCK_RECORDS && id < epochs.limit);
    if (record_is_gone(block, at)) {
        set_bit(block->gone, at, false);
        record_begin(&block->records[at], id);
    }
    record_set_out(block, id, true);
    return &block->records[at];
}

struct epoch *epoch_take_record(void)
{
    enum { LIMIT = EPOCH_BLOCKS * EPOCH_BLOCK_RECORDS };
    struct epoch *epoch;
    do {
        lock_acquire(&epochs.lock);
        epoch = record_take_idle();
        epoch = epoch != NULL ? epoch : record_make();
        if (epoch != NULL) {
            invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FREE && epoch->runs == 0);
            invariant(load_plain(&epoch->first.holder) == HOLD_TAKEN && epoch->root == NULL);
        }
        lock_release(&epochs.lock);
    } while (epoch == NULL && load_plain(&epochs.limit) < LIMIT && metadata_ahead(sizeof(struct epoch_block)));
    return epoch;
}

/* Instances. */

/* Under the lock. */
static void record_set_root(struct epoch *epoch, struct epoch *root)
{
    invariant(lock_is_held(&epochs.lock) && epoch != root);
    if (epoch->root != NULL) {
        invariant(counter_get(&epoch->root->quota_users) != 0);
        counter_sub(&epoch->root->quota_users, 1);
        set_bit(epochs.blocks_there, epoch->root->id >> EPOCH_BLOCK_SHIFT, true); /* it may go now */
    }
    epoch->root = root;
    if (root != NULL) {
        counter_add(&root->quota_users, 1);
    }
}

void epoch_set_root(struct epoch *epoch, uint64_t instance)
{
    lock_acquire(&epochs.lock);
    record_set_root(epoch, epoch_by_value(instance)); /* it is out of the pool now, and is asked again before it goes */
    lock_release(&epochs.lock);
}

/* Idle records without pages. They read as zero, which is a FREE record of generation 0, whose hold is TAKEN. */

/* Whether all that the record must keep while it is idle are its generation and its index. Under the lock. */
static bool record_may_go(struct epoch_block *block, uint32_t at)
{
    const struct epoch *const epoch = &block->records[at];
    const bool idle = (load_plain(&block->idle[at / 64]) >> at % 64 & 1) != 0;
    invariant(!idle || (load_plain(&block->out[at / 64]) >> at % 64 & 1) == 0);
    return idle && (record_is_gone(block, at) || (epoch->spare_holds == NULL && load_plain(&epoch->partials) == NULL &&
                                                  counter_get(&epoch->quota_users) == 0 && epoch->first.affinity == 0));
}

/* Marks n records as ones that nobody may take, or as idle ones. */
static void records_set_idle(uint32_t number, uint32_t at, uint32_t n, bool idle)
{
    struct epoch_block *const block = load_plain(&epoch_blocks[number]);
    invariant(lock_is_held(&epochs.lock) && at + n <= EPOCH_BLOCK_RECORDS);
    for (uint32_t i = at; i < at + n; i++) {
        set_bit(block->idle, i, idle);
    }
    set_bit(epochs.blocks_idle, number, has_bits(block->idle));
}

/* The whole pages that n records of a block have from the place `at` on. Their bytes; 0: there is none. */
static size_t record_pages(const struct epoch_block *block, uint32_t at, uint32_t n, uintptr_t *from)
{
    const uintptr_t start = (uintptr_t)&block->records[at], end = start + n * sizeof block->records[0];
    const uintptr_t to = round_down(end, os_page_bytes());
    invariant(at + n <= EPOCH_BLOCK_RECORDS);
    *from = round_up(start, os_page_bytes());
    return to > *from ? to - *from : 0;
}

/* The bytes of whole pages of n records from the place `at` of a block on that are all gone, or were never made: those
 * behind the first `made` of the block. */
static size_t records_gone_bytes(const struct epoch_block *block, uint32_t at, uint32_t n, uint32_t made)
{
    size_t bytes = 0;
    for (uint32_t end = at + n, next; at < end; at = next + 1) {
        uintptr_t from;
        for (next = at; next < end && (next >= made || record_is_gone(block, next)); next++) {
        }
        bytes += record_pages(block, at, next - at, &from);
    }
    return bytes;
}

uint64_t epoch_records_gone_bytes(void)
{
    const uint32_t limit = load_acquire(&epochs.limit);
    uint64_t bytes = 0;
    for (uint32_t first = 0; first < limit; first += EPOCH_BLOCK_RECORDS) {
        const struct epoch_block *const block = load_acquire(&epoch_blocks[first >> EPOCH_BLOCK_SHIFT]);
        const uint32_t made = (uint32_t)min_size(limit - first, EPOCH_BLOCK_RECORDS);
        bytes += block == NULL ? 0 : records_gone_bytes(block, 0, EPOCH_BLOCK_RECORDS, made);
    }
    return bytes;
}

/* Gives back the whole pages of n records from the place `at` of a block on, and adds the bytes of those that were
 * there to *given. Lets go of the lock while the system works: nobody takes these records meanwhile. */
static void records_purge(uint32_t number, uint32_t at, uint32_t n, size_t *given)
{
    struct epoch_block *const block = load_plain(&epoch_blocks[number]);
    uintptr_t from;
    const size_t bytes = record_pages(block, at, n, &from);
    invariant(lock_is_held(&epochs.lock));
    if (bytes == 0) {
        return;
    }
    const uintptr_t start = (uintptr_t)&block->records[at], to = from + bytes;
    const size_t gone = records_gone_bytes(block, at, n, EPOCH_BLOCK_RECORDS);
    const uint32_t first = at + (uint32_t)((from - start) / sizeof block->records[0]);
    const uint32_t last = at + (uint32_t)((to - 1 - start) / sizeof block->records[0]);
    invariant(first <= last && last < at + n);
    for (uint32_t i = first; i <= last; i++) {
        if (!record_is_gone(block, i)) {
            const uint64_t generation = load_plain(&block->records[i].word) >> EPOCH_GENERATION_SHIFT;
            epochs.generation = max_size(epochs.generation, generation);
        }
    }
    records_set_idle(number, first, last - first + 1, false);
    lock_release(&epochs.lock);
    const bool purged = os_purge((void *)from, to - from);
    lock_acquire(&epochs.lock);
    records_set_idle(number, first, last - first + 1, true);
    for (uint32_t i = first; i <= last && purged; i++) {
        set_bit(block->gone, i, true);
    }
    *given += purged ? bytes - gone : 0;
}

bool epoch_purge_idle(size_t *given)
{
    lock_acquire(&epochs.lock);
    const uint32_t number = next_bit(epochs.blocks_there, BLOCK_WORDS, 0);
    struct epoch_block *const block = number >= EPOCH_BLOCKS ? NULL : load_plain(&epoch_blocks[number]);
    if (block != NULL) {
        set_bit(epochs.blocks_there, number, false);
        for (uint32_t at = 0, n; at < EPOCH_BLOCK_RECORDS; at += n + 1) {
            for (n = 0; at + n < EPOCH_BLOCK_RECORDS && record_may_go(block, at + n); n++) {
            }
            records_purge(number, at, n, given);
        }
    }
    lock_release(&epochs.lock);
    return block != NULL;
}

uint64_t epoch_granules_allocated(const struct epoch *epoch)
{
    uint64_t sum = 0;
    for (const struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        const struct cursor *cursor = &hold->cursor;
        const uint64_t start = load_plain(&cursor->start), here = load_plain(&cursor->at) - start;
        /* Between two writes of the holder, a look may find `start` of one chunk and `at` of another. */
        sum += counter_get(&cursor->allocated_granules) + (start != NO_CHUNK && here <= CHUNK_GRANULES ? here : 0);
    }
    return sum;
}

/* Takes over what the record counted. Under the lock of the pool. */
static void record_take_counts(struct epoch *epoch)
{
    invariant(counter_get(&epoch->chunks) == 0);
    const uint64_t granules = epoch_granules_allocated(epoch);
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        counter_set(&hold->cursor.allocated_granules, 0);
    }
    store_release(&epoch_counters.allocated_granules, counter_get(&epoch_counters.allocated_granules) + granules);
    counter_add(&epoch_counters.drained, load_plain(&epoch->drains));
    store_plain(&epoch->drains, 0);
}

void epoch_put_record(struct epoch *epoch)
{
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FREE && epoch->runs == 0);
    invariant(load_plain(&epoch->first.holder) == HOLD_TAKEN && cursor_start(&epoch->first.cursor) == NULL);
    lock_acquire(&epochs.lock);
    record_take_counts(epoch);
    record_set_root(epoch, NULL);
    record_set_out(load_plain(&epoch_blocks[epoch->id >> EPOCH_BLOCK_SHIFT]), epoch->id, false);
    lock_release(&epochs.lock);
}

bool epoch_pass_warm(struct epoch *first, uint32_t n)
{
    struct epoch *last = first;
    for (uint32_t i = 1; i < n; i++) {
        last = last->next_idle;
    }
    invariant(n != 0 && epoch_word_state(load_plain(&last->word)) == EPOCH_FREE);
    lock_acquire(&epochs.lock);
    invariant((epochs.warm == NULL) == (epochs.warm_count == 0));
    const bool fits = epochs.warm_count + n <= WARM_SHARED;
    if (fits) {
        last->next_idle = epochs.warm;
        epochs.warm = first;
        epochs.warm_count += n;
    }
    lock_release(&epochs.lock);
    return fits;
}

struct epoch *epoch_take_warm(uint32_t most, uint32_t *n)
{
    *n = 0;
    lock_acquire(&epochs.lock);
    struct epoch *const first = epochs.warm;
    for (struct epoch *last = first; last != NULL && *n < most; last = epochs.warm) {
        invariant(epoch_word_state(load_plain(&last->word)) == EPOCH_FREE && epochs.warm_count != 0);
        epochs.warm = last->next_idle;
        epochs.warm_count--;
        ++*n;
        if (*n == most || epochs.warm == NULL) {
            last->next_idle = NULL;
        }
    }
    lock_release(&epochs.lock);
    return first;
}

void epoch_flush_warm(struct epoch *warm)
{
    while (warm != NULL) {
        struct epoch *const epoch = warm;
        warm = epoch->next_idle;
        hold_drop_chunk(&epoch->first);
        epoch_put_record(epoch);
    }
}

void epoch_flush_shared_warm(void)
{
    uint32_t n;
    epoch_flush_warm(epoch_take_warm(UINT32_MAX, &n));
}

size_t epoch_label(const struct epoch *epoch, char label[EPOCH_LABEL_BYTES])
{
    for (unsigned i = 0; i < EPOCH_LABEL_BYTES / sizeof(uint64_t); i++) {
        const uint64_t part = load_plain(&epoch->label[i]);
        memcpy(label + i * sizeof part, &part, sizeof part);
    }
    label[EPOCH_LABEL_BYTES - 1] = 0;
    return strlen(label);
}

void epoch_text(struct text *text, const char *label, uint64_t value)
{
    invariant(value != 0 && strnlen(label, EPOCH_LABEL_BYTES) < EPOCH_LABEL_BYTES);
    text_string(text, "epoch ");
    if (label[0] == 0) {
        text_number(text, value);
        return;
    }
    text_string(text, "'");
    text_foreign(text, label);
    text_string(text, "'");
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
        store_plain(&epoch->label[i], part);
    }
}

void hold_start(struct hold *hold, struct epoch *epoch)
{
    owned_store(&hold->epoch, epoch);
    hold->real = hold;
    chunk_abandon(&hold->cursor);
    store_plain(&hold->holder, HOLD_TAKEN);
}

struct hold *epoch_link_hold(struct epoch *epoch)
{
    struct hold *hold = epoch->spare_holds;
    if (hold != NULL) {
        epoch->spare_holds = hold_next(hold);
    } else {
        hold = metadata_take(sizeof *hold);
        if (hold == NULL) {
            return NULL;
        }
        hold_start(hold, epoch);
    }
    invariant(load_plain(&hold->holder) == HOLD_TAKEN && cursor_start(&hold->cursor) == NULL);
    invariant(load_plain(&hold->heap) == NULL);
    hold->filled_kib = 0;
    hold->outlives = false;
    hold->free_entry = hold->free_entries = 0;
    store_release(&hold->next, epoch_first_hold(epoch));
    store_release(&epoch->holds, hold);
    return hold;
}

void epoch_unlink_holds(struct epoch *epoch)
{
    if (likely(epoch_first_hold(epoch) == &epoch->first)) {
        return;
    }
    lock_acquire(epoch_lock(epoch));
    for (struct hold *hold = epoch_first_hold(epoch); hold != &epoch->first; hold = epoch_first_hold(epoch)) {
        invariant(load_plain(&hold->holder) == HOLD_TAKEN);
        store_release(&epoch->holds, hold_next(hold));
        store_release(&hold->next, epoch->spare_holds);
        epoch->spare_holds = hold;
    }
    lock_release(epoch_lock(epoch));
}

void hold_drop_chunk(struct hold *hold)
{
    invariant(load_plain(&hold->holder) == HOLD_TAKEN);
    if (cursor_start(&hold->cursor) != NULL) {
        lock_acquire(epoch_lock(hold->epoch));
        chunk_drop(&hold->cursor);
        lock_release(epoch_lock(hold->epoch));
        epoch_drop_chunk(hold->epoch);
    }
}

void epoch_gather_free(void)
{
    epochs.warm = NULL; /* these are among them */
    epochs.warm_count = 0;
    uint32_t at = 0;
    for (struct epoch *epoch; (epoch = epoch_next(&at)) != NULL;) {
        if (epoch_word_state(load_plain(&epoch->word)) == EPOCH_FREE) {
            hold_drop_chunk(&epoch->first);
            epoch_put_record(epoch);
        }
    }
}

noinline void epoch_refuses(struct epoch *epoch, uint32_t units)
{
    const uint32_t limit = load_plain(&epoch->limit_units);
    const uint64_t own = counter_get(&epoch->run_units);
    const bool by_label = epoch->label_quota != NULL && (epoch->quota == NULL || quota_allows(epoch->quota, units));
    const struct quota *const shared = by_label ? &epoch->label_quota->quota : epoch->quota;
    const bool is_own = (limit != 0 && own + units > limit) || shared == NULL;
    const uint64_t used = is_own ? own : counter_get(&shared->units);
    invariant(units != 0 && epoch != &epoch_process);
    struct limit_refusal refusal = {
        .whose = is_own     ? "epoch"
                 : by_label ? "label"
                            : "instance",
        .kind = is_own ? LIMIT_KIND_EPOCH : LIMIT_KIND_SHARED,
        .limit_bytes = (is_own ? limit : load_plain(&shared->limit_units)) << UNIT_SHIFT,
        .used_bytes = used << UNIT_SHIFT,
        .wanted_bytes = (uint64_t)units << UNIT_SHIFT,
        .epoch = epoch_value(epoch),
        .count = by_label && !is_own ? &epoch->label_quota->refusals : &limits.epoch_refusals,
        .of_epoch = &epoch->refusals,
    };
    (void)epoch_label(epoch, refusal.label);
    if (refusal.limit_bytes != 0) { /* 0: it was lifted meanwhile */
        limit_note_refusal(&refusal);
    }
}

noinline int epoch_refusal(uint64_t value)
{
    return epoch_by_value(value) == NULL ? TSLAB_STALE : TSLAB_CLOSED;
}

uint32_t epoch_threads_inside(const struct epoch *epoch)
{
    uint32_t inside = 0;
    for (const struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        const struct thread *holder = load_plain(&hold->holder);
        inside += holder != HOLD_IDLE && holder != HOLD_TAKEN;
    }
    return inside;
}

bool epoch_is_open_as(const struct epoch *epoch, uint64_t value)
{
    const uint64_t word = load_seq_cst(&epoch->word);
    return epoch_same_generation(word, value) && epoch_word_state(word) == EPOCH_OPEN;
}

bool epoch_is_doomed(const struct epoch *epoch)
{
    const uint32_t policy = load_plain(&epoch->policy);
    return policy == TSLAB_POLICY_RELEASE || policy == TSLAB_POLICY_TRAP;
}

/* The runs of an epoch are a doubly linked list in their descriptors. Each pins the record. */

void epoch_link_run(struct epoch *epoch, uint32_t first)
{
    struct run *run = &arena.runs[first];
    invariant(first != 0 && word_epoch(load_plain(&run->word)) == epoch->id);
    invariant(load_plain(&epoch->pins) != 0);
    lock_acquire(epoch_lock(epoch));
    run->of_epoch.prev = 0;
    run->of_epoch.next = epoch->runs;
    if (epoch->runs != 0) {
        arena.runs[epoch->runs].of_epoch.prev = first;
    }
    epoch->runs = first;
    epoch_count_units(epoch, 0, run->units);
    (void)fetch_add_relaxed(&epoch->pins, 1);
    lock_release(epoch_lock(epoch));
}

void epoch_unlink_run(struct epoch *epoch, uint32_t first)
{
    struct run *run = &arena.runs[first];
    lock_acquire(epoch_lock(epoch));
    invariant((run->of_epoch.prev == 0 ? epoch->runs : arena.runs[run->of_epoch.prev].of_epoch.next) == first);
    invariant(run->of_epoch.next == 0 || arena.runs[run->of_epoch.next].of_epoch.prev == first);
    *(run->of_epoch.prev == 0 ? &epoch->runs : &arena.runs[run->of_epoch.prev].of_epoch.next) = run->of_epoch.next;
    if (run->of_epoch.next != 0) {
        arena.runs[run->of_epoch.next].of_epoch.prev = run->of_epoch.prev;
    }
    counter_add(&epoch->recycled_runs, 1);
    epoch_count_units(epoch, run->units, 0);
    lock_release(epoch_lock(epoch));
    store_relaxed(&run->word, SLAB_EMPTY);
}

/* Retires a record that nothing refers to any more. A record that its closing thread keeps warm retires elsewhere
 * (ending.c). */
static void epoch_retire(struct epoch *epoch)
{
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_DRAINING);
    invariant(epoch->runs == 0 && load_plain(&epoch->pins) == 0);
    epoch_unlink_holds(epoch);
    handle_table_drop(&epoch->handles);
    const uint64_t word = load_plain(&epoch->word);
    trace_epoch_end(epoch_generation(word) | epoch->id);
    store_seq_cst(&epoch->word, epoch_generation(word) | EPOCH_FREE);
    epoch_put_record(epoch);
}

void epoch_unpin(struct epoch *epoch)
{
    invariant(load_plain(&epoch->pins) != 0);
    if (fetch_sub_seq_cst(&epoch->pins, 1) == 1) {
        epoch_retire(epoch);
    }
}

void epoch_recycle_run(struct epoch *epoch, uint32_t first)
{
    epoch_unlink_run(epoch, first);
    depot_put(first, arena.runs[first].units, false);
    epoch_unpin(epoch);
}

void epoch_recycle_chunk(struct epoch *epoch, uint32_t first)
{
    invariant(unit_tag(first) == TAG_CHUNK && load_plain(&arena.runs[first].live) == 0);
    arena_untag(first, CHUNK_UNITS);
    epoch_drop_chunk(epoch);
    epoch_recycle_run(epoch, first);
}
