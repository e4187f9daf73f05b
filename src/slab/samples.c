/* Records of addresses with a similar hash are linked from a head. A thread that frees an object whose head is 0 has
 * not to look further: the head is not 0 from before the object's user had it until its record ends. */
#include "slab/samples.h"

#include "common/metadata.h"
#include "common/random.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/lock.h"
#include "slab/size_codes.h"

#include <string.h>

enum { BLOCKS = SAMPLES_MOST / SAMPLES_IN_BLOCK };

struct samples samples;

static struct lock samples_lock = LOCK_INIT(RANK_SAMPLES);

/* Made once allocations are sampled. Under the lock, but for the heads. */
struct samples_known {
    atomic_u32 heads[SAMPLE_HEADS]; /* the last record of each group of addresses */
    struct sample *blocks[BLOCKS];
    struct stack *stacks[STACKS_MOST];
    uint32_t stack_heads[STACK_HEADS]; /* the last stack of each group of hashes */
    uint32_t free;                     /* records not in use */
    uint32_t since_look;               /* records made since dead ones were looked for */
    uint64_t live_bytes, peak_bytes;
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

/* A record that was made, so its block is there. */
static struct sample *sample_made(uint32_t number)
{
    invariant(lock_is_held(&samples_lock) && number != 0 && number <= counter_get(&samples.highest));
    return &known_samples->blocks[number / SAMPLES_IN_BLOCK][number % SAMPLES_IN_BLOCK];
}

static atomic_u32 *head_of(uint64_t address)
{
    return &known_samples->heads[((address >> GRANULE_SHIFT) * 0x9e3779b97f4a7c15u >> 32) % SAMPLE_HEADS];
}

bool samples_may_have(uint64_t address)
{
    invariant(known_samples != NULL);
    return load_relaxed(head_of(address)) != 0;
}

/* The number of this address's record, and of the one that is linked to it; 0: there is none. */
static uint32_t sample_find(uint64_t address, uint32_t *before)
{
    uint32_t number = load_plain(head_of(address));
    invariant(lock_is_held(&samples_lock) && number <= counter_get(&samples.highest));
    for (*before = 0; number != 0 && sample_made(number)->address != address; number = sample_made(number)->next) {
        *before = number;
    }
    return number;
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
    uint32_t *const head = &known_samples->stack_heads[hash % STACK_HEADS];
    for (uint32_t number = *head; number != 0;) {
        const struct stack *const stack = known_samples->stacks[number];
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
    known_samples->stacks[number] = stack;
    store_plain(&samples.stacks, number);
    *head = number;
    return number;
}

static struct stack *stack_of(const struct sample *sample)
{
    return sample->stack == 0 ? NULL : known_samples->stacks[sample->stack];
}

const struct stack *samples_stack(uint32_t number, struct stack_sums *sums)
{
    lock_acquire(&samples_lock);
    invariant(number != 0 && number <= counter_get(&samples.stacks));
    const struct stack *const stack = known_samples->stacks[number];
    *sums = stack->sums;
    lock_release(&samples_lock);
    return stack;
}

const struct stack *samples_stack_of(uint64_t address)
{
    const struct stack *stack = NULL;
    if (samples_were_on() && lock_try(&samples_lock)) {
        uint32_t before;
        const uint32_t number = sample_find(address, &before);
        stack = number == 0 ? NULL : stack_of(sample_made(number));
        lock_release(&samples_lock);
    }
    return stack;
}

/* Records. With the lock. */

/* The bytes that a record stands for. */
static uint64_t bytes_for(const struct sample *sample)
{
    invariant(sample->weight >= WEIGHT_ONE && sample->bytes != 0);
    return sample->weight * sample->bytes >> WEIGHT_SHIFT;
}

/* Counts a record that begins (1) or ends (-1). */
static void count_live(const struct sample *sample, int by)
{
    const uint64_t objects = (uint64_t)by * sample->weight, bytes = (uint64_t)by * bytes_for(sample);
    struct stack *const stack = stack_of(sample);
    invariant(by == 1 || (by == -1 && known_samples->live_bytes >= bytes_for(sample)));
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

/* Ends the record of this address. False: it has none of an object whose free is seen. */
static bool end_record(uint64_t address)
{
    uint32_t before;
    const uint32_t number = sample_find(address, &before);
    if (number == 0) {
        return false;
    }
    struct sample *const sample = sample_made(number);
    count_live(sample, -1);
    count_in_unit(sample, -1);
    if (before != 0) {
        sample_made(before)->next = sample->next;
    } else {
        store_relaxed(head_of(address), sample->next);
    }
    sample->address = 0;
    sample->next = known_samples->free;
    known_samples->free = number;
    counter_sub(&samples.live, 1);
    return sample->life == 0;
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
    struct sample **const block = &known_samples->blocks[number / SAMPLES_IN_BLOCK];
    *block = *block != NULL ? *block : memory_take(SAMPLES_IN_BLOCK * sizeof **block);
    return *block != NULL ? number : 0;
}

/* The number of a record for use. 0: there is none. */
static uint32_t take_record(void)
{
    const uint32_t number = record_need();
    if (number != 0 && number == known_samples->free) {
        known_samples->free = sample_made(number)->next;
    } else if (number != 0) {
        store_plain(&samples.highest, number);
    }
    return number;
}

/* Takes the lock when all is there that a record with these frames needs, or there is no memory for it. */
static void lock_with_room(const uintptr_t *frames, size_t depth)
{
    invariant(known_samples != NULL && depth <= STACK_FRAMES);
    for (bool more = true;;) {
        lock_acquire(&samples_lock);
        memory_lacks = 0;
        if (more && load_plain(&samples.is_on) != 0) {
            (void)stack_number(frames, depth);
            (void)record_need();
        }
        const size_t lacks = memory_lacks;
        if (lacks == 0) {
            return;
        }
        lock_release(&samples_lock);
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

/* Ends all records, or those of objects that are gone. */
static void end_records(bool all)
{
    for (uint32_t number = 1; number <= counter_get(&samples.highest); number++) {
        const struct sample *const sample = sample_made(number);
        if (sample->address != 0 && (all || samples_is_dead(sample))) {
            (void)end_record(sample->address);
        }
    }
    known_samples->since_look = 0;
}

/* Notes what lives now as the peak, if it is more than before. Dead records do not count, so they are looked for first.
 */
static void note_peak(void)
{
    if (known_samples->live_bytes > known_samples->peak_bytes) {
        end_records(false);
    }
    if (known_samples->live_bytes <= known_samples->peak_bytes) {
        return;
    }
    known_samples->peak_bytes = known_samples->live_bytes;
    for (uint32_t number = 1; number <= counter_get(&samples.stacks); number++) {
        struct stack_sums *const sums = &known_samples->stacks[number]->sums;
        sums->peak_objects = sums->live_objects;
        sums->peak_bytes = sums->live_bytes;
    }
}

static void add_record(uint32_t number, const struct sample *of)
{
    struct sample *const sample = sample_made(number);
    atomic_u32 *const head = head_of(of->address);
    invariant(sample->address == 0 && of->address % GRANULE_BYTES == 0 && of->weight >= WEIGHT_ONE);
    invariant((of->life != 0) == (of->run != 0 && of->class == CLASS_NONE));
    *sample = *of;
    count_in_unit(sample, 1);
    sample->next = load_plain(head);
    store_relaxed(head, number);
    counter_add(&samples.live, 1);
    count_live(sample, 1);
}

/* Makes a record, while allocations are sampled: else all have ended. False: there is no room. */
static bool make_record(struct sample *made, const uintptr_t *frames, size_t depth)
{
    invariant(lock_is_held(&samples_lock) && load_plain(&samples.is_on) != 0);
    made->weight = random_weight(made->bytes, made->period);
    made->stack = stack_number(frames, depth);
    if (made->stack == 0) {
        counter_add(&samples.stackless, 1);
    } else {
        stack_of(made)->sums.objects += made->weight;
        stack_of(made)->sums.bytes += bytes_for(made);
    }
    (void)end_record(made->address);
    uint32_t number = take_record();
    if (number == 0 && known_samples->since_look > SAMPLES_MOST / 8) {
        end_records(false);
        number = take_record();
    }
    known_samples->since_look++;
    if (number == 0) {
        counter_add(&samples.lost, 1);
        return false;
    }
    add_record(number, made);
    /* Not for each new one, and not for each small step */
    if (known_samples->since_look > counter_get(&samples.live) / 8 &&
        known_samples->live_bytes > known_samples->peak_bytes + known_samples->peak_bytes / 64) {
        note_peak();
    }
    return true;
}

bool samples_add(const struct sample *sample, const uintptr_t *frames, size_t depth)
{
    struct sample made = *sample;
    bool is_made = false;
    invariant(depth <= STACK_FRAMES && sample->bytes != 0 && sample->period != 0);
    lock_with_room(frames, depth);
    if (load_plain(&samples.is_on) != 0) {
        is_made = make_record(&made, frames, depth);
    }
    lock_release(&samples_lock);
    return is_made;
}

void samples_note_peak(void)
{
    lock_acquire(&samples_lock);
    if (known_samples != NULL) {
        note_peak();
    }
    lock_release(&samples_lock);
}

bool samples_grow(uint64_t address, uint64_t bytes)
{
    uint32_t before;
    invariant(known_samples != NULL && bytes != 0);
    lock_acquire(&samples_lock);
    const uint32_t number = sample_find(address, &before);
    if (number != 0) {
        struct sample *const sample = sample_made(number);
        struct stack *const stack = stack_of(sample);
        const uint64_t stood_for = bytes_for(sample);
        count_live(sample, -1);
        sample->bytes = max_size(sample->bytes, bytes);
        sample->weight = random_weight(sample->bytes, sample->period);
        count_live(sample, 1);
        if (stack != NULL) {
            stack->sums.bytes += bytes_for(sample) - stood_for;
        }
    }
    lock_release(&samples_lock);
    return number != 0;
}

void samples_end(uint64_t address)
{
    lock_acquire(&samples_lock);
    invariant(known_samples != NULL && address != 0);
    const bool is_told = end_record(address);
    lock_release(&samples_lock);
    if (is_told) {
        trace_sample_ends((const void *)(uintptr_t)address);
    }
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
        if ((tag == TAG_LARGE || unit_is_sampled(arena_unit(p))) && samples_may_have((uintptr_t)p)) {
            samples_end((uintptr_t)p);
        }
    }
}

void samples_end_all(void)
{
    lock_acquire(&samples_lock);
    invariant(known_samples != NULL && load_plain(&samples.is_on) == 0);
    end_records(true);
    invariant(counter_get(&samples.live) == 0);
    lock_release(&samples_lock);
}

bool samples_copy(uint32_t number, struct sample *copy)
{
    lock_acquire(&samples_lock);
    *copy = *sample_made(number);
    lock_release(&samples_lock);
    return copy->address != 0;
}
