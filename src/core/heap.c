#include "core/heap.h"

#include "core/depot.h"
#include "core/epoch.h"
#include "core/generation.h"
#include "core/holes.h"
#include "core/meta.h"
#include "core/misuse.h"
#include "core/option.h"
#include "core/reclaim.h"
#include "core/thread.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

/* Bounds of magazines, by bytes and by slots. A magazine starts small, doubles each time it overflows, and starts again
 * when its class was idle between two ticks. */
enum {
    CAPACITY_BYTES_FIRST = 1024,
    CAPACITY_BYTES = 32 * 1024,
    CAPACITY_SLOTS_FIRST = 16,
    CAPACITY_SLOTS = 512,
    CAPACITY_SLOTS_MIN = 2,
    BATCH_BYTES_FIRST = 256,
    BATCH_BYTES = 8 * 1024,
    BATCH_SLOTS_FIRST = 4,
    BATCH_SLOTS = 64,
};

/* The stock of full magazines of a heap, all classes together: at first, at most, and what all heaps may have beyond
 * the first. The last two yield to what the purger has learned to keep. */
enum { STOCK_BYTES_FIRST = 64 * 1024, STOCK_BYTES = 256 * 1024, STOCK_BYTES_TOGETHER = 8 * 1024 * 1024 };

/* Bypass: a window of so many allocations, in which fewer than one of HELP_MIN hits, turns the magazine off; one of
 * HELP_AGAIN turns it on again. */
enum { WINDOW = 256, HELP_MIN = 50, HELP_AGAIN = 8 };

/* How often a heap looks for classes that are idle: at most so often, and the clock is read every so many slow
 * operations. */
enum { TICK_MS = 250, TICK_OPERATIONS = 64 };

struct heap heap_none = { .innermost = &hold_none, .filling = &hold_none };
struct heap heap_gone = { .innermost = &hold_none, .filling = &hold_none };

static uint16_t between_bounds(size_t bytes, size_t size, size_t most, size_t least)
{
    return (uint16_t)max_size(least, min_size(most, bytes / size));
}

static uint16_t capacity_first(unsigned class)
{
    return between_bounds(CAPACITY_BYTES_FIRST, class_geometry[class].size, CAPACITY_SLOTS_FIRST, CAPACITY_SLOTS_MIN);
}

static uint16_t capacity_most(unsigned class)
{
    return between_bounds(CAPACITY_BYTES, class_geometry[class].size, CAPACITY_SLOTS, CAPACITY_SLOTS_MIN);
}

static uint16_t batch_first(unsigned class)
{
    return between_bounds(BATCH_BYTES_FIRST, class_geometry[class].size, BATCH_SLOTS_FIRST, 1);
}

static uint16_t batch_most(unsigned class)
{
    return between_bounds(BATCH_BYTES, class_geometry[class].size, BATCH_SLOTS, 1);
}

/* Slots in the magazine of a class. */
static unsigned heap_magazine_slots(const struct heap *heap, unsigned class)
{
    return load_plain(&heap->class[class].capacity) - magazine_room(&heap->magazine[class]);
}

static void heap_set_capacity(struct heap *heap, unsigned class, uint16_t capacity)
{
    magazine_set_room(&heap->magazine[class], capacity - heap_magazine_slots(heap, class));
    store_plain(&heap->class[class].capacity, capacity);
}

uint32_t heap_next_affinity(void)
{
    static atomic_u32 next = AFFINITY_FIRST_HEAP;
    return fetch_add_relaxed(&next, 1);
}

void heap_retag(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        heap->magazine[c].tag = tag_of(c, class_geometry[c].shares_lines ? heap->affinity : heap->epoch->affinity);
    }
}

void heap_start(struct heap *heap, struct thread *thread, struct epoch *epoch, uint32_t affinity)
{
    const bool magazines = option_get(OPTION_MAGAZINES) != 0;
    heap->thread = thread;
    heap->innermost = &hold_none;
    heap->filling = &hold_none;
    heap->epoch = epoch;
    heap->affinity = affinity;
    heap->stock_budget = magazines ? STOCK_BYTES_FIRST : 0;
    heap->magazine[CLASS_NONE].tag = TAG_NEVER;
    heap_retag(heap);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *hc = &heap->class[c];
        hc->batch = batch_first(c);
        hc->bypass_alloc = !magazines;
        heap_set_capacity(heap, c, magazines ? capacity_first(c) : 0);
    }
}

struct heap *heap_make(struct epoch *epoch)
{
    struct heap *heap = meta_alloc(sizeof *heap);
    if (heap != NULL) {
        heap_start(heap, NULL, epoch, heap_next_affinity());
    }
    return heap;
}

/* Counting. */

/* What the magazine of a class has, and what has come and gone through it, as of one look at its count. A report may
 * look between two writes of a slow path: what comes out below zero then, is zero. */
struct traffic {
    uint64_t slots, allocs, frees;
};

static struct traffic heap_traffic(const struct heap *heap, unsigned class)
{
    const uint64_t count = owned_get(&heap->magazine[class].count);
    const uint64_t capacity = load_plain(&heap->class[class].capacity), room = count & MAGAZINE_ROOM_MASK;
    const uint64_t slots = capacity > room ? capacity - room : 0;
    const uint64_t allocs = count >> MAGAZINE_SERVED_SHIFT;
    /* What is in the magazine, and what left it, but was not put there by a slow path. */
    const uint64_t frees = slots + allocs + counter_get(&heap->class[class].moved);
    return (struct traffic){ slots, allocs, (int64_t)frees < 0 ? 0 : frees };
}

static uint64_t cached_with(const struct heap_class *hc, uint64_t slots)
{
    return slots + counter_get(&hc->stock_slots) + counter_get(&hc->retired_slots) +
           bit_count(load_plain(&hc->claimed));
}

uint64_t heap_cached(const struct heap *heap, unsigned class)
{
    return cached_with(&heap->class[class], heap_traffic(heap, class).slots);
}

void heap_add(const struct heap *heap, unsigned class, struct class_sums *sums)
{
    const struct heap_class *hc = &heap->class[class];
    const struct class_counters *counters = &hc->counters;
    const struct traffic traffic = heap_traffic(heap, class);
    const uint64_t bypassed_allocs = counter_get(&counters->bypassed_allocs);
    const uint64_t bypassed_frees = counter_get(&counters->bypassed_frees);
    const uint64_t remote_frees = counter_get(&counters->remote_frees);
    sums->allocs += traffic.allocs + bypassed_allocs;
    sums->frees += traffic.frees + bypassed_frees + remote_frees;
    sums->cached += cached_with(hc, traffic.slots);
    sums->refills += counter_get(&counters->refills);
    sums->refilled += counter_get(&counters->refilled);
    sums->flushes += counter_get(&counters->flushes);
    sums->flushed += counter_get(&counters->flushed);
    sums->stocked += counter_get(&counters->stocked);
    sums->bypassed_allocs += bypassed_allocs;
    sums->bypassed_frees += bypassed_frees;
    sums->remote_frees += remote_frees;
    sums->opened += counter_get(&counters->opened);
    sums->attached += counter_get(&counters->attached);
}

/* The heaps of epochs. */

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    struct heap *first;
} heaps = { .lock = LOCK_INIT(RANK_HEAPS) };

/* What those counted that are not in use any more; under the same lock. */
static struct class_sums heaps_gone[CLASS_LIMIT];

void heap_enlist(struct heap *heap)
{
    lock_acquire(&heaps.lock);
    invariant(!heap->enlisted);
    heap->enlisted = true;
    heap->prev = NULL;
    heap->next = heaps.first;
    if (heaps.first != NULL) {
        heaps.first->prev = heap;
    }
    heaps.first = heap;
    lock_release(&heaps.lock);
}

/* Begins to count anew, with an empty heap. */
static void heap_forget_counts(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    invariant(heap_cached(heap, class) == 0);
    owned_set(&heap->magazine[class].count, magazine_room(&heap->magazine[class]));
    counter_set(&hc->moved, 0);
    hc->window_allocs = hc->window_refilled = hc->idle_allocs = hc->idle_frees = 0;
    memset(&hc->counters, 0, sizeof hc->counters);
}

void heap_delist(struct heap *heap)
{
    lock_acquire(&heaps.lock);
    if (heap->enlisted) {
        heap->enlisted = false;
        *(heap->prev == NULL ? &heaps.first : &heap->prev->next) = heap->next;
        if (heap->next != NULL) {
            heap->next->prev = heap->prev;
        }
        for (unsigned c = 1; c < CLASS_LIMIT; c++) {
            heap_add(heap, c, &heaps_gone[c]);
            heap_forget_counts(heap, c);
        }
    }
    lock_release(&heaps.lock);
}

static void class_sums_add(struct class_sums *sums, const struct class_sums *more)
{
    sums->allocs += more->allocs;
    sums->frees += more->frees;
    sums->refills += more->refills;
    sums->refilled += more->refilled;
    sums->flushes += more->flushes;
    sums->flushed += more->flushed;
    sums->stocked += more->stocked;
    sums->bypassed_allocs += more->bypassed_allocs;
    sums->bypassed_frees += more->bypassed_frees;
    sums->remote_frees += more->remote_frees;
    sums->opened += more->opened;
    sums->attached += more->attached;
}

void heaps_add(unsigned class, struct class_sums *sums)
{
    lock_acquire(&heaps.lock);
    class_sums_add(sums, &heaps_gone[class]);
    for (const struct heap *heap = heaps.first; heap != NULL; heap = heap->next) {
        heap_add(heap, class, sums);
    }
    lock_release(&heaps.lock);
}

/* Giving back. */

/* One look at a slab of which slots were given back, in the gate. */
static void heap_give(struct run *slab, unsigned class, unsigned word, uint64_t mask)
{
    if (slab_give(slab, &class_geometry[class], word, mask)) {
        partial_evaluate(slab);
    }
}

enum { GIVE_WAYS = 16 };

/* Gives a chain of slots back, grouped by word of their bitmaps: one atomic operation for up to 64 of them. The groups
 * wait in a small table; one that finds its place taken by another sends that one first. */
static noinline uint64_t flush_chain(unsigned class, void *chain)
{
    struct slot waiting[GIVE_WAYS] = { { NULL, 0, 0 } };
    uint64_t slots = 0;
    while (chain != NULL) {
        void *const p = chain;
        chain = *slot_link(p);
        const struct slot slot = slot_of(p, class);
        struct slot *group = &waiting[(run_index(slot.slab) * 5 + slot.word) % GIVE_WAYS];
        if (group->slab == slot.slab && group->word == slot.word) {
            if (unlikely((group->mask & slot.mask) != 0)) {
                misuse("double free of", p);
            }
            group->mask |= slot.mask;
        } else {
            if (group->slab != NULL) {
                heap_give(group->slab, class, group->word, group->mask);
            }
            *group = slot;
        }
        slots++;
    }
    for (unsigned i = 0; i < GIVE_WAYS; i++) {
        if (waiting[i].slab != NULL) {
            heap_give(waiting[i].slab, class, waiting[i].word, waiting[i].mask);
        }
    }
    return slots;
}

static void heap_flush_magazine(struct heap *heap, unsigned class)
{
    struct magazine *m = &heap->magazine[class];
    struct heap_class *hc = &heap->class[class];
    if (magazine_head(m) == NULL) {
        return;
    }
    const uint64_t slots = flush_chain(class, magazine_head(m));
    magazine_set_head(m, NULL);
    magazine_set_room(m, load_plain(&hc->capacity));
    counter_add(&hc->moved, slots);
    heap->flushed_bytes += slots * class_geometry[class].size;
    hc->flushed_at = heap->flushed_bytes;
    counter_add(&hc->counters.flushes, 1);
    counter_add(&hc->counters.flushed, slots);
}

/* The stock: chains of slots, linked through the second word of their first slot. */

enum { CHAIN_COUNT_SHIFT = 44 };

static uint64_t chain_pack(void *chain, unsigned slots)
{
    return ((uintptr_t)chain - arena.base) >> GRANULE_SHIFT | (uint64_t)slots << CHAIN_COUNT_SHIFT;
}

static void *chain_first(uint64_t packed)
{
    return (void *)(arena.base + ((packed & bit_mask(CHAIN_COUNT_SHIFT)) << GRANULE_SHIFT));
}

static unsigned chain_slots(uint64_t packed)
{
    return (unsigned)(packed >> CHAIN_COUNT_SHIFT);
}

static uint64_t *chain_next(void *chain)
{
    return (uint64_t *)chain + 1;
}

/* Hands the whole magazine over to the stock, if the budget allows. */
static bool stock_put(struct heap *heap, unsigned class)
{
    struct magazine *m = &heap->magazine[class];
    struct heap_class *hc = &heap->class[class];
    const unsigned slots = heap_magazine_slots(heap, class);
    const size_t bytes = (size_t)slots * class_geometry[class].size;
    if (slots == 0 || heap->stock_bytes + bytes > heap->stock_budget) {
        return false;
    }
    void *const chain = magazine_head(m);
    *chain_next(chain) = hc->stock;
    hc->stock = chain_pack(chain, slots);
    counter_add(&hc->stock_slots, slots);
    heap->stock_bytes += bytes;
    heap->stock_peak = max_size(heap->stock_peak, heap->stock_bytes);
    magazine_set_head(m, NULL);
    magazine_set_room(m, load_plain(&hc->capacity));
    counter_add(&hc->moved, slots);
    counter_add(&hc->counters.stocked, 1);
    return true;
}

/* Takes a chain out of the stock, which is not empty. */
static void *stock_take(struct heap *heap, unsigned class, unsigned *slots)
{
    struct heap_class *hc = &heap->class[class];
    void *const chain = chain_first(hc->stock);
    *slots = chain_slots(hc->stock);
    hc->stock = *chain_next(chain);
    counter_set(&hc->stock_slots, counter_get(&hc->stock_slots) - *slots);
    heap->stock_bytes -= (size_t)*slots * class_geometry[class].size;
    return chain;
}

/* What the heaps may keep beyond the first budget of each, together. */
static atomic_size_t stock_granted;

/* Sets the heap's budget, if the bound of all together allows. */
static void stock_set_budget(struct heap *heap, size_t budget)
{
    const size_t change = budget - heap->stock_budget; /* modulo 2^64 when it shrinks, as the sum is */
    const size_t granted = fetch_add_relaxed(&stock_granted, change) + change;
    if (budget > heap->stock_budget && granted > max_size(STOCK_BYTES_TOGETHER, reclaim_learned_bytes())) {
        (void)fetch_sub_relaxed(&stock_granted, change);
    } else {
        heap->stock_budget = budget;
    }
}

/* What was flushed is fetched again: the stock may grow, if it could have held all that was flushed meanwhile (the
 * reuse distance, in bytes). Beyond its bound it may hold as much as the purger has learned to keep, since the program
 * fills and empties its memory again and again: that memory stays here either way. */
static void stock_learn(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const size_t most = max_size(STOCK_BYTES, reclaim_learned_bytes());
    const bool lately = hc->flushed_at != 0 && heap->flushed_bytes - hc->flushed_at <= most;
    if (lately && heap->stock_budget < most) {
        stock_set_budget(heap, min_size(heap->stock_budget * 2, most));
    }
    hc->flushed_at = 0;
}

static void stock_flush(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    while (counter_get(&hc->stock_slots) != 0) {
        unsigned slots;
        void *const chain = stock_take(heap, class, &slots);
        (void)flush_chain(class, chain);
        counter_add(&hc->counters.flushes, 1);
        counter_add(&hc->counters.flushed, slots);
    }
}

/* Slabs. */

/* A relaxed look, for it only says whether it is worth to go on: who leaves a closed epoch cleans up. */
static bool heap_is_open(const struct heap *heap)
{
    return epoch_word_state(load_plain(&heap->epoch->word)) == EPOCH_OPEN;
}

static void heap_detach_slab(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t claimed = load_plain(&hc->claimed);
    if (claimed != 0) {
        const struct slot first = slot_of(hc->claimed_start, class);
        heap_give(hc->slab, class, first.word, claimed);
        store_plain(&hc->claimed, 0);
    }
    if (hc->slab != NULL) {
        struct run *const slab = hc->slab;
        hc->slab = NULL;
        partial_detach(slab);
    }
}

/* A run for a slab: for one with handles a run whose places have generations left. 0: no memory. Runs that have none
 * left are held back meanwhile, so that the depot does not return them again. */
static uint32_t run_for_slab(const struct heap *heap, uint32_t units)
{
    const bool has_handles = (heap->epoch->affinity & AFFINITY_HANDLE) != 0;
    uint32_t used_up = 0;
    uint32_t first;
    bool clean;
    while ((first = reclaim_take(units, 1, &clean)) != 0 && has_handles && !generation_begin(first, units)) {
        arena.runs[first].next = used_up;
        used_up = first;
    }
    while (used_up != 0) {
        const uint32_t next = arena.runs[used_up].next;
        depot_put(used_up, units, false);
        used_up = next;
    }
    return first;
}

/* Attaches a slab of the class that has slots: a partial one, or a new one. False: no memory, or the epoch is closed.
 */
static bool heap_attach_slab(struct heap *heap, unsigned class)
{
    if (!heap_is_open(heap)) {
        return false;
    }
    const struct class_geometry *geometry = &class_geometry[class];
    struct heap_class *hc = &heap->class[class];
    const uint32_t affinity = geometry->shares_lines ? heap->affinity : heap->epoch->affinity;
    hc->slab = partial_attach(&epoch_partials(heap->epoch)[class]);
    if (hc->slab != NULL) {
        counter_add(&hc->counters.attached, 1);
        if (geometry->shares_lines) {
            slab_set_affinity(hc->slab, class, affinity);
        }
        return true;
    }
    const uint32_t first = run_for_slab(heap, geometry->units);
    if (first == 0) {
        return false;
    }
    slab_open(first, class, heap->epoch->id, affinity);
    if (heap->epoch != &epoch_process) {
        epoch_link_run(heap->epoch, first);
    }
    hc->slab = &arena.runs[first];
    counter_add(&hc->counters.opened, 1);
    return true;
}

/* Claims a word of slots: the lowest of the attached slab that has any, so that objects pack into few pages. */
static bool heap_claim_word(struct heap *heap, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    struct heap_class *hc = &heap->class[class];
    for (;;) {
        for (unsigned w = 0; hc->slab != NULL && w < geometry->words; w++) {
            const uint64_t taken = slab_take(hc->slab, geometry, w);
            if (taken != 0) {
                store_plain(&hc->claimed, taken);
                hc->claimed_start = arena_address(run_index(hc->slab)) + (size_t)w * WORD_SLOTS * geometry->size;
                return true;
            }
        }
        heap_detach_slab(heap, class);
        if (!heap_attach_slab(heap, class)) {
            return false;
        }
    }
}

/* Links up to `most` claimed slots into a list, in the order of their addresses. Returns how many. */
static unsigned link_claimed(struct heap_class *hc, size_t size, unsigned most, void **list)
{
    unsigned n = 0;
    void **at = list;
    uint64_t claimed = load_plain(&hc->claimed);
    while (claimed != 0 && n < most) {
        char *const p = hc->claimed_start + bit_lowest(claimed) * size;
        claimed &= claimed - 1;
        *at = p;
        at = slot_link(p);
        n++;
    }
    *at = NULL;
    store_plain(&hc->claimed, claimed);
    return n;
}

/* Bypass, decided by windows of allocations. */

static void window_of_allocs(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t allocs = magazine_served(&heap->magazine[class]) + counter_get(&hc->counters.bypassed_allocs);
    const uint64_t missed = counter_get(&hc->counters.refilled) + counter_get(&hc->counters.bypassed_allocs);
    const uint64_t n = allocs - hc->window_allocs;
    if (n < WINDOW) {
        return;
    }
    /* Every slot that did not come from a free before is a miss. */
    const uint64_t misses = min_size(n, missed - hc->window_refilled);
    const uint64_t hits = n - misses;
    if (!hc->bypass_alloc) {
        hc->bypass_alloc = hits * HELP_MIN < n;
    } else if (hits * HELP_AGAIN >= n) {
        hc->bypass_alloc = false;
    }
    hc->window_allocs = allocs;
    hc->window_refilled = missed;
}

/* Classes and hot runs that nobody used between two ticks give back what they cache, and start small again. */
static noinline void heap_tick(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *hc = &heap->class[c];
        struct class_sums sums = { 0 };
        heap_add(heap, c, &sums);
        if (sums.allocs == hc->idle_allocs && sums.frees == hc->idle_frees && sums.cached != 0) {
            heap_flush_magazine(heap, c);
            stock_flush(heap, c);
            heap_detach_slab(heap, c);
            hc->batch = batch_first(c);
            heap_set_capacity(heap, c, capacity_first(c));
        }
        hc->idle_allocs = sums.allocs;
        hc->idle_frees = sums.frees;
    }
    if (!heap->hot.touched) {
        hot_flush(&heap->hot);
    }
    heap->hot.touched = false;
    if (heap->stock_peak < heap->stock_budget / 4) {
        stock_set_budget(heap, max_size(heap->stock_budget / 2, STOCK_BYTES_FIRST));
    }
    heap->stock_peak = heap->stock_bytes;
}

static void slow_operation_end(struct heap *heap)
{
    if (unlikely(++heap->operations % TICK_OPERATIONS == 0) && option_get(OPTION_MAGAZINES) != 0) {
        const uint64_t now_ms = os_now_ms();
        if (now_ms - heap->tick_ms >= TICK_MS) {
            heap->tick_ms = now_ms;
            heap_tick(heap);
        }
    }
    reclaim_tick();
    holes_tick(&epoch_process);
    gate_unlock(heap->thread);
}

/* In the gate: the magazine is empty. */
static void *heap_refill(struct heap *heap, unsigned class)
{
    struct magazine *m = &heap->magazine[class];
    struct heap_class *hc = &heap->class[class];
    const bool magazines = option_get(OPTION_MAGAZINES) != 0;
    const uint16_t capacity = load_plain(&hc->capacity);
    if (counter_get(&hc->stock_slots) != 0) {
        unsigned slots;
        void *const chain = stock_take(heap, class, &slots);
        if (slots > capacity) {
            store_plain(&hc->capacity, (uint16_t)slots);
        }
        magazine_set_head(m, chain);
        magazine_set_room(m, load_plain(&hc->capacity) - slots);
        counter_add(&hc->moved, -(uint64_t)slots);
        counter_add(&hc->counters.unstocked, 1);
        return magazine_pop(m, magazine_head(m));
    }
    if (magazines) {
        window_of_allocs(heap, class);
        stock_learn(heap, class);
    }
    if (load_plain(&hc->claimed) == 0 && !heap_claim_word(heap, class)) {
        return NULL;
    }
    if (hc->bypass_alloc) {
        return heap_hand_out(heap, class);
    }
    void *list;
    const unsigned n = link_claimed(hc, class_geometry[class].size, hc->batch < capacity ? hc->batch : capacity, &list);
    hc->batch = (uint16_t)min_size((size_t)hc->batch * 2, batch_most(class));
    magazine_set_head(m, list);
    magazine_set_room(m, capacity - n);
    counter_add(&hc->moved, -(uint64_t)n);
    counter_add(&hc->counters.refills, 1);
    counter_add(&hc->counters.refilled, n);
    return magazine_pop(m, magazine_head(m));
}

/* Nothing is to be had, but something may be: what this heap keeps of other classes. */
static noinline void *heap_refill_at_last(struct heap *heap, unsigned class)
{
    heap_empty(heap);
    return heap_refill(heap, class);
}

void *heap_alloc_slow(struct heap *heap, unsigned class)
{
    gate_lock(heap->thread);
    void *p = heap_refill(heap, class);
    if (unlikely(p == NULL) && heap_is_open(heap)) {
        p = heap_refill_at_last(heap, class);
    }
    slow_operation_end(heap);
    return p;
}

/* In the gate: the magazine takes the slot, once it has room. */
static void heap_make_room(struct heap *heap, unsigned class)
{
    const struct heap_class *hc = &heap->class[class];
    const uint16_t most = capacity_most(class);
    const uint16_t capacity = load_plain(&hc->capacity);
    if (capacity < most) {
        heap_set_capacity(heap, class, (uint16_t)min_size((size_t)capacity * 2, most));
    } else if (!stock_put(heap, class)) {
        heap_flush_magazine(heap, class);
    }
}

void heap_free_full(struct heap *heap, unsigned class, void *p)
{
    if (unlikely(option_get(OPTION_MAGAZINES) == 0)) {
        counter_add(&heap->class[class].counters.bypassed_frees, 1);
        heap_free_direct(heap, class, p);
        return;
    }
    gate_lock(heap->thread);
    heap_make_room(heap, class);
    magazine_push(&heap->magazine[class], magazine_head(&heap->magazine[class]), p);
    slow_operation_end(heap);
}

/* The give of a single slot has brought its slab to where somebody must look. */
static noinline void look_after_free(struct thread *thread, struct run *slab)
{
    const int saved = errno;
    gate_lock(thread);
    partial_evaluate(slab);
    reclaim_tick();
    gate_unlock(thread);
    errno = saved;
}

void heap_free_direct(struct heap *heap, unsigned class, void *p)
{
    const struct slot slot = slot_of(p, class);
    struct thread *const thread = heap->thread;
    /* Fork may cut us between the two writes of the give: its child recounts the noted slab. */
    store_relaxed(&thread->noted, run_index(slot.slab));
    if (slab_give(slot.slab, &class_geometry[class], slot.word, slot.mask)) {
        look_after_free(thread, slot.slab);
    }
}

void heap_retire(struct heap *heap, unsigned class, void *p)
{
    struct heap_class *hc = &heap->class[class];
    *slot_link(p) = hc->retired;
    hc->retired = p;
    counter_add(&hc->retired_slots, 1);
    counter_add(&hc->counters.remote_frees, 1); /* it was counted as allocated, and is nobody's */
}

void heap_unretire(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *hc = &heap->class[c];
        while (hc->retired != NULL) {
            void *const p = hc->retired;
            const struct slot slot = slot_of(p, c);
            hc->retired = *slot_link(p);
            *slot_link(p) = NULL; /* free memory of the checked library is zero */
            counter_set(&hc->retired_slots, counter_get(&hc->retired_slots) - 1);
            heap_give(slot.slab, c, slot.word, slot.mask);
        }
    }
}

void heap_recount(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        unsigned slots = 0;
        for (void *p = magazine_head(&heap->magazine[c]); p != NULL; p = *slot_link(p)) {
            slots++;
        }
        magazine_set_room(&heap->magazine[c], load_plain(&heap->class[c].capacity) - slots);
    }
}

/* At the end of the program there is no telling whether a slot was freed wrongly, or who wrote to a free one. */
static const char late_double[] = "found at exit: a double free, or a write into free memory, at";
static const char late_interior[] = "found at exit: a free of an interior pointer, or a write into free memory, at";

/* A chain is longer than it should be: has it come back to one of its first slots? */
static void find_again(void *chain, unsigned slots)
{
    void *p = chain;
    for (unsigned n = 0; n < slots; n++, p = *slot_link(p)) {
        void *other = *slot_link(p);
        for (unsigned k = n + 1; k < slots; k++, other = *slot_link(other)) {
            if (other == p) {
                misuse(late_double, p);
            }
        }
    }
}

/* Who has written to a free slot may have led the chain anywhere: it is followed only as far as it is one of slots. */
static void verify_chain(unsigned class, void *chain, unsigned slots)
{
    void *p = chain;
    unsigned n = 0;
    for (; p != NULL && n < slots; n++, p = *slot_link(p)) {
        const size_t unit = arena_unit(p);
        if (!arena_has_unit(unit) || tag_class(load_plain(&arena.units[unit].tag)) != class) {
            return;
        }
        if (!slot_starts(p, class)) {
            misuse(late_interior, p);
        }
        const struct slot slot = slot_of(p, class);
        if ((load_relaxed(&slot.slab->bitmap[slot.word]) & slot.mask) != 0) {
            misuse(late_double, p);
        }
    }
    if (p != NULL) {
        find_again(chain, n);
    }
}

void heap_verify(const struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        verify_chain(c, magazine_head(&heap->magazine[c]),
                     heap_magazine_slots(heap, c) + 1); /* the count may be cut short */
    }
}

void heap_empty(struct heap *heap)
{
    if (heap->stock_budget > STOCK_BYTES_FIRST) {
        stock_set_budget(heap, STOCK_BYTES_FIRST);
    }
    hot_flush(&heap->hot);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        heap_flush_magazine(heap, c);
        stock_flush(heap, c);
        heap_detach_slab(heap, c);
    }
}
