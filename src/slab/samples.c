/* The table has open addresses: a word is an address in granules and the number of its record, WORD_EMPTY or WORD_GONE.
 * Another table takes its place when half of its words are not WORD_EMPTY. A thread that is looking into the old one
 * finds it as it was: it serves again only when the next one is used up. So a thread that finds nothing looks again if
 * there was another table meanwhile. */
#include "slab/samples.h"

#include "base/floats.h"
#include "common/metadata.h"
#include "common/random.h"
#include "os/fatal.h"
#include "os/lock.h"
#include "slab/size_codes.h"

#include <string.h>

enum { BLOCKS = SAMPLES_MOST / SAMPLES_IN_BLOCK };
enum { SAMPLE_BITS = 20, WORD_EMPTY = 0, WORD_GONE = 1 };

_Static_assert(SAMPLES_MOST <= 1 << SAMPLE_BITS, "a word has the number of a record");

struct samples samples;

struct sample_table {
    uint64_t length; /* a power of two */
    uint64_t used;   /* words that are not WORD_EMPTY */
    atomic_u64 words[];
};

static struct lock samples_lock = LOCK_INIT(RANK_SAMPLES);

/* Sums are computed with the lock, and in an environment of floating point of our own. */
static uint64_t take_samples(void)
{
    lock_acquire(&samples_lock);
    return float_hold();
}

static void put_samples(uint64_t floats)
{
    invariant(lock_is_held(&samples_lock));
    float_restore(floats);
    lock_release(&samples_lock);
}

/* What is there once allocations are sampled. */
struct samples_known {
    _Atomic(struct sample_table *) table;
    atomic_u32 tables;          /* how many there were */
    struct sample_table *spare; /* the one before it, if it had the same length */
    _Atomic(struct sample *) blocks[BLOCKS];
    _Atomic(struct stack *) stacks[STACKS_MOST];
    uint32_t heads[STACK_HEADS]; /* the last stack of each group of hashes */
    uint32_t free;               /* records not in use */
    uint32_t since_look;         /* records made since dead ones were looked for */
    double live_bytes, peak_bytes;
};

static struct samples_known *known_samples;

bool samples_start(void)
{
    bool started;
    do {
        lock_acquire(&samples_lock);
        if (known_samples == NULL) {
            known_samples = metadata_take(sizeof *known_samples);
        }
        started = known_samples != NULL;
        store_plain(&samples.were_on, started);
        lock_release(&samples_lock);
    } while (!started && metadata_ahead(sizeof *known_samples));
    return started;
}

/* Memory that a record needs is taken with the lock, and mapped without it: a free may wait for the lock. */
static size_t memory_lacks; /* bytes that were not mapped; 0: all were. Under the lock */

static void *memory_take(size_t bytes)
{
    void *const start = metadata_take(bytes);
    invariant(lock_is_held(&samples_lock));
    memory_lacks = start == NULL ? bytes : memory_lacks;
    return start;
}

struct sample *samples_at(uint32_t number)
{
    invariant(number != 0 && number < SAMPLES_MOST);
    struct sample *const block = load_acquire(&known_samples->blocks[number / SAMPLES_IN_BLOCK]);
    return block == NULL ? NULL : &block[number % SAMPLES_IN_BLOCK];
}

/* A record that was made, so its block is there. */
static struct sample *sample_made(uint32_t number)
{
    invariant(number != 0 && number <= counter_get(&samples.highest));
    return &load_acquire(&known_samples->blocks[number / SAMPLES_IN_BLOCK])[number % SAMPLES_IN_BLOCK];
}

const struct stack *samples_stack(uint32_t number)
{
    invariant(number != 0 && number < STACKS_MOST);
    return load_acquire(&known_samples->stacks[number]);
}

/* The table. */

static uint64_t sample_word_of(uint64_t address, uint32_t number)
{
    return address >> GRANULE_SHIFT << SAMPLE_BITS | number;
}

static uint32_t sample_word_number(uint64_t word)
{
    return (uint32_t)(word & ((1 << SAMPLE_BITS) - 1));
}

static bool sample_word_has(uint64_t word, uint64_t address)
{
    return word > WORD_GONE && word >> SAMPLE_BITS == sample_word_of(address, 0) >> SAMPLE_BITS;
}

/* The word of this address. NULL: there is none. */
static atomic_u64 *sample_word(uint64_t address)
{
    struct sample_table *const table = load_acquire(&known_samples->table);
    if (table == NULL) {
        return NULL;
    }
    for (uint64_t at = samples_hash(address) >> 20;; at++) {
        atomic_u64 *const word = &table->words[at & (table->length - 1)];
        const uint64_t found = load_acquire(word);
        if (found == WORD_EMPTY || sample_word_has(found, address)) {
            return found == WORD_EMPTY ? NULL : word;
        }
    }
}

uint32_t samples_find(uint64_t address)
{
    for (;;) {
        const uint32_t before = load_acquire(&known_samples->tables);
        atomic_u64 *const word = sample_word(address);
        const uint64_t found = word == NULL ? WORD_EMPTY : load_acquire(word);
        if (sample_word_has(found, address)) {
            return sample_word_number(found);
        }
        if (load_acquire(&known_samples->tables) == before) {
            return 0;
        }
    }
}

static void sample_table_put(struct sample_table *table, uint64_t address, uint32_t number)
{
    uint64_t at = samples_hash(address) >> 20;
    while (load_plain(&table->words[at & (table->length - 1)]) > WORD_GONE) {
        at++;
    }
    atomic_u64 *const word = &table->words[at & (table->length - 1)];
    table->used += load_plain(word) == WORD_EMPTY;
    store_release(word, sample_word_of(address, number));
    invariant(table->used < table->length);
}

/* An empty table of this length. NULL: no memory. */
static struct sample_table *sample_table_take(uint64_t length)
{
    struct sample_table *table = known_samples->spare;
    if (table == NULL || table->length != length) {
        table = memory_take(sizeof *table + length * sizeof *table->words);
    }
    if (table != NULL) {
        table->length = length;
        table->used = 0;
        store_plain_zeros(table->words, length);
    }
    return table;
}

/* Sees to a table that has room for one more. False: no memory. */
static bool sample_table_need(void)
{
    struct sample_table *const old = load_plain(&known_samples->table);
    if (old != NULL && old->used < old->length / 2) {
        return true;
    }
    invariant(lock_is_held(&samples_lock));
    uint64_t length = old == NULL ? SAMPLES_FIRST : old->length;
    while (length / 4 < counter_get(&samples.live) + 1) {
        length *= 2;
    }
    struct sample_table *const table = sample_table_take(length);
    if (table == NULL) {
        return false;
    }
    for (uint64_t at = 0; old != NULL && at < old->length; at++) {
        const uint64_t word = load_plain(&old->words[at]);
        if (word > WORD_GONE) {
            sample_table_put(table, word >> SAMPLE_BITS << GRANULE_SHIFT, sample_word_number(word));
        }
    }
    known_samples->spare = old;
    store_release(&known_samples->table, table);
    store_release(&known_samples->tables, load_plain(&known_samples->tables) + 1);
    return true;
}

/* Stacks. */

static uint64_t stack_hash(const uintptr_t *frames, size_t depth)
{
    uint64_t hash = depth;
    for (size_t i = 0; i < depth; i++) {
        hash = (hash ^ frames[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The number of this stack. 0: there is no room for another one. */
static uint32_t stack_number(const uintptr_t *frames, size_t depth)
{
    invariant(lock_is_held(&samples_lock) && counter_get(&samples.stacks) < STACKS_MOST);
    const uint64_t hash = stack_hash(frames, depth);
    uint32_t *const head = &known_samples->heads[hash % STACK_HEADS];
    for (uint32_t number = *head; number != 0;) {
        const struct stack *const stack = samples_stack(number);
        if (stack->hash == hash && stack->depth == depth &&
            memcmp(stack->frames, frames, depth * sizeof *frames) == 0) {
            return number;
        }
        number = stack->before;
    }
    const uint32_t number = counter_get(&samples.stacks) + 1;
    struct stack *const stack = number < STACKS_MOST ? memory_take(sizeof *stack + depth * sizeof *frames) : NULL;
    if (stack == NULL) {
        return 0;
    }
    *stack = (struct stack){ .hash = hash, .before = *head, .depth = (uint32_t)depth };
    memcpy(stack->frames, frames, depth * sizeof *frames);
    store_release(&known_samples->stacks[number], stack);
    store_release(&samples.stacks, number);
    *head = number;
    return number;
}

static struct stack *stack_of(const struct sample *sample)
{
    return sample->stack == 0 ? NULL : load_plain(&known_samples->stacks[sample->stack]);
}

void samples_sums(uint32_t number, struct stack_sums *sums)
{
    invariant(number != 0 && number <= load_plain(&samples.stacks));
    lock_acquire(&samples_lock);
    *sums = samples_stack(number)->sums;
    lock_release(&samples_lock);
}

/* Records. With the lock. */

static void count_live(const struct sample *sample, double sign)
{
    const double objects = sign * sample->weight, bytes = objects * (double)sample->bytes;
    struct stack *const stack = stack_of(sample);
    invariant(sign == 1 || sign == -1);
    known_samples->live_bytes += bytes;
    if (stack != NULL) {
        stack->sums.live_objects += objects;
        stack->sums.live_bytes += bytes;
    }
}

/* Counts a record that begins (1) or ends (-1) in the unit of its slot, if it is one's, whose tag is to have frees come
 * here. */
static void count_in_unit(const struct sample *sample, int by)
{
    if (sample->class == CLASS_NONE) {
        return;
    }
    const size_t unit = arena_unit((const void *)(uintptr_t)sample->address);
    const uint32_t count = arena.revisits[unit].samples += (uint32_t)by;
    invariant(lock_is_held(&samples_lock) && count <= UNIT_BYTES / GRANULE_BYTES);
    invariant(tag_class(unit_tag(unit)) == sample->class);
    if (by > 0 && count == 1) {
        (void)fetch_or_plain(&arena.units[unit].tag, TAG_SAMPLED);
    } else if (count == 0) {
        (void)fetch_and_plain(&arena.units[unit].tag, ~(uint32_t)TAG_SAMPLED);
    }
}

static void end_record(atomic_u64 *word)
{
    const uint32_t number = sample_word_number(load_plain(word));
    struct sample *const sample = samples_at(number);
    invariant(lock_is_held(&samples_lock) && sample != NULL && sample->address != 0);
    count_live(sample, -1);
    count_in_unit(sample, -1);
    store_plain(word, WORD_GONE);
    sample->address = 0;
    sample->next = known_samples->free;
    known_samples->free = number;
    counter_sub(&samples.live, 1);
}

/* Sees to a record for use. 0: there is none. */
static uint32_t record_need(void)
{
    const uint32_t free = known_samples->free;
    invariant(lock_is_held(&samples_lock) && free <= counter_get(&samples.highest));
    const uint32_t number = free != 0 ? free : counter_get(&samples.highest) + 1;
    if (number >= SAMPLES_MOST) {
        return 0;
    }
    _Atomic(struct sample *) *const block = &known_samples->blocks[number / SAMPLES_IN_BLOCK];
    if (load_plain(block) == NULL) {
        struct sample *const fresh = memory_take(SAMPLES_IN_BLOCK * sizeof *fresh);
        if (fresh == NULL) {
            return 0;
        }
        store_release(block, fresh);
    }
    return number;
}

/* The number of a record for use. 0: there is none. */
static uint32_t take_record(void)
{
    const uint32_t number = record_need();
    if (number != 0 && number == known_samples->free) {
        known_samples->free = sample_made(number)->next;
    } else if (number != 0) {
        store_release(&samples.highest, number);
    }
    return number;
}

/* Takes the lock when all is there that a record with these frames needs, or there is no memory for it. */
static uint64_t take_samples_with_room(const uintptr_t *frames, size_t depth)
{
    for (bool more = true;;) {
        const uint64_t floats = take_samples();
        memory_lacks = 0;
        if (more && load_plain(&samples.is_on) != 0) {
            (void)stack_number(frames, depth);
            (void)sample_table_need();
            (void)record_need();
        }
        const size_t lacks = memory_lacks;
        if (lacks == 0) {
            return floats;
        }
        put_samples(floats);
        more = metadata_ahead(lacks);
    }
}

/* Other threads may be about to give the memory another use. */
bool samples_is_dead(const struct sample *sample)
{
    if (sample->life == 0) {
        return false;
    }
    const void *const p = (const void *)(uintptr_t)sample->address;
    const struct run *const chunk = &arena.runs[sample->run];
    invariant(sample->run != 0 && sample->class == CLASS_NONE);
    return arena_tag(p) != TAG_CHUNK || load_plain(size_code_at(p)) == 0 || owned_load(&chunk->life) != sample->life;
}

/* Ends the records of objects that are gone. */
static void end_dead_records(void)
{
    for (uint32_t number = 1; number <= counter_get(&samples.highest); number++) {
        const struct sample *const sample = sample_made(number);
        if (sample->address != 0 && samples_is_dead(sample)) {
            end_record(sample_word(sample->address));
        }
    }
    known_samples->since_look = 0;
}

/* Notes what lives now as the peak, if it is more than before. Dead records do not count, so they are looked for first.
 */
static void note_peak(void)
{
    if (known_samples->live_bytes <= known_samples->peak_bytes) {
        return;
    }
    end_dead_records();
    if (known_samples->live_bytes <= known_samples->peak_bytes) {
        return;
    }
    known_samples->peak_bytes = known_samples->live_bytes;
    for (uint32_t number = 1; number <= counter_get(&samples.stacks); number++) {
        struct stack_sums *const sums = &load_plain(&known_samples->stacks[number])->sums;
        sums->peak_objects = sums->live_objects;
        sums->peak_bytes = sums->live_bytes;
    }
}

static void add_record(uint32_t number, const struct sample *of)
{
    struct sample *const sample = sample_made(number);
    invariant(lock_is_held(&samples_lock) && sample != NULL && sample->address == 0);
    invariant(of->address % GRANULE_BYTES == 0 && of->address >> 48 == 0 && of->weight >= 1);
    invariant((of->life != 0) == (of->run != 0 && of->class == CLASS_NONE));
    *sample = *of;
    count_in_unit(sample, 1);
    sample_table_put(load_plain(&known_samples->table), of->address, number);
    counter_add(&samples.live, 1);
    count_live(sample, 1);
}

void samples_add(const struct sample *sample, const uintptr_t *frames, size_t depth)
{
    struct sample made = *sample;
    invariant(depth <= STACK_FRAMES && sample->bytes != 0 && sample->period != 0);
    const uint64_t floats = take_samples_with_room(frames, depth);
    made.weight = random_weight(sample->bytes, sample->period);
    if (load_plain(&samples.is_on) == 0) { /* all records have ended */
        put_samples(floats);
        return;
    }
    made.stack = stack_number(frames, depth);
    if (made.stack == 0) {
        counter_add(&samples.stackless, 1);
    } else {
        struct stack_sums *const sums = &stack_of(&made)->sums;
        sums->objects += made.weight;
        sums->bytes += made.weight * (double)made.bytes;
    }
    atomic_u64 *const word = sample_word(made.address);
    if (word != NULL) {
        end_record(word);
    }
    uint32_t number = sample_table_need() ? take_record() : 0;
    if (number == 0 && known_samples->since_look > SAMPLES_MOST / 8) {
        end_dead_records();
        number = sample_table_need() ? take_record() : 0;
    }
    if (number != 0) {
        add_record(number, &made);
        /* Not for each new one, and not for each small step */
        if (++known_samples->since_look > counter_get(&samples.live) / 8 &&
            known_samples->live_bytes > known_samples->peak_bytes * (1 + 1.0 / 64)) {
            note_peak();
        }
    } else {
        counter_add(&samples.lost, 1);
        known_samples->since_look++;
    }
    put_samples(floats);
}

void samples_note_peak(void)
{
    const uint64_t floats = take_samples();
    if (known_samples != NULL) {
        note_peak();
    }
    put_samples(floats);
}

void samples_grow(uint64_t address, uint64_t bytes)
{
    const uint64_t floats = take_samples();
    atomic_u64 *const word = sample_word(address);
    if (word != NULL) {
        struct sample *const sample = sample_made(sample_word_number(load_plain(word)));
        struct stack *const stack = stack_of(sample);
        const double before = sample->weight * (double)sample->bytes;
        count_live(sample, -1);
        sample->bytes = max_size(sample->bytes, bytes);
        sample->weight = random_weight(sample->bytes, sample->period);
        invariant(sample->bytes >= bytes && sample->weight >= 1);
        count_live(sample, 1);
        if (stack != NULL) {
            stack->sums.bytes += sample->weight * (double)sample->bytes - before;
        }
    }
    put_samples(floats);
}

void samples_end(uint64_t address)
{
    const uint64_t floats = take_samples();
    invariant(known_samples != NULL && address != 0);
    atomic_u64 *const word = sample_word(address);
    if (word != NULL) {
        end_record(word);
    }
    invariant(sample_word(address) == NULL);
    put_samples(floats);
}

void samples_end_run(uint32_t first)
{
    const uint32_t tag = unit_tag(first), units = arena.runs[first].units;
    if (!samples_are_on() || tag == TAG_CHUNK) {
        return; /* all records end, or have ended */
    }
    const size_t step = tag == TAG_LARGE ? (size_t)units << UNIT_SHIFT : class_geometry[tag_class(tag)].size;
    const char *const start = arena_address(first), *const end = start + ((size_t)units << UNIT_SHIFT);
    invariant(step != 0);
    for (const char *p = start; p < end; p += step) {
        if ((tag == TAG_LARGE || unit_is_sampled(arena_unit(p))) && samples_find((uintptr_t)p) != 0) {
            samples_end((uintptr_t)p);
        }
    }
}

void samples_end_all(void)
{
    const uint64_t floats = take_samples();
    invariant(known_samples != NULL && load_plain(&samples.is_on) == 0);
    for (uint32_t number = 1; number <= counter_get(&samples.highest); number++) {
        const uint64_t address = sample_made(number)->address;
        if (address != 0) {
            end_record(sample_word(address));
        }
    }
    invariant(counter_get(&samples.live) == 0);
    put_samples(floats);
}

bool samples_copy(uint32_t number, struct sample *copy)
{
    lock_acquire(&samples_lock);
    const struct sample *const sample = samples_at(number);
    const bool used = sample != NULL && sample->address != 0;
    if (used) {
        *copy = *sample;
    }
    lock_release(&samples_lock);
    return used;
}
