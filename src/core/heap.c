/* The slow paths of a heap: refill and overflow of magazines, claims of bitmap words, attaching of slabs, the bypass
 * (decided by windows of allocations), and the ticks that give back what idle classes cache. */
#include "core/heap.h"

#include "core/depot.h"
#include "core/epoch.h"
#include "core/flush.h"
#include "core/generation.h"
#include "core/holes.h"
#include "core/meta.h"
#include "core/misuse.h"
#include "core/option.h"
#include "core/reclaim.h"
#include "os/fatal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

/* The bypass: a window of WINDOW allocations with fewer than one hit in HELP_MIN turns the magazine off. A window with
 * at least one hit in HELP_AGAIN turns it on again. */
enum { WINDOW = 256, HELP_MIN = 50, HELP_AGAIN = 8 };

/* A heap looks for idle classes at most every TICK_MS. It reads the clock every TICK_OPERATIONS slow operations. */
enum { TICK_MS = 250, TICK_OPERATIONS = 64 };

struct heap heap_none;
struct front front_none = { .innermost = &hold_none, .filling = &hold_none, .heap = &heap_none };
struct front front_gone = { .innermost = &hold_none, .filling = &hold_none, .heap = &heap_none };

_Thread_local struct front *front_current = &front_none;

bool heap_serves_malloc;

unsigned heap_magazine_slots(const struct heap *heap, unsigned class)
{
    return load_plain(&heap->class[class].capacity) - magazine_room(&heap->front.magazine[class]);
}

static void heap_set_capacity(struct heap *heap, unsigned class, uint16_t capacity)
{
    invariant(heap_magazine_slots(heap, class) <= capacity);
    magazine_set_room(&heap->front.magazine[class], capacity - heap_magazine_slots(heap, class));
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
        invariant(magazine_head(&heap->front.magazine[c]) == NULL);
        heap->front.magazine[c].tag =
            tag_of(c, class_geometry[c].shares_lines ? heap->affinity : heap->epoch->affinity);
    }
}

void heap_start(struct heap *heap, struct thread *thread, struct gate *gate, struct epoch *epoch, uint32_t affinity)
{
    const bool magazines = option_get(OPTION_MAGAZINES) != 0;
    invariant((thread == NULL) == (gate == NULL) && affinity >= AFFINITY_FIRST_HEAP);
    heap->front.thread = thread;
    heap->front.innermost = &hold_none;
    heap->front.filling = &hold_none;
    heap->front.heap = heap;
    heap->gate = gate;
    heap->epoch = epoch;
    heap->affinity = affinity;
    stock_start(&heap->stock, magazines);
    heap->front.magazine[CLASS_NONE].tag = TAG_NEVER;
    heap_retag(heap);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *hc = &heap->class[c];
        hc->batch = magazine_batch_first(c);
        hc->bypass_alloc = !magazines;
        heap_set_capacity(heap, c, magazines ? magazine_capacity_first(c) : 0);
    }
}

struct heap *heap_make(struct epoch *epoch)
{
    struct heap *heap = meta_alloc(sizeof *heap);
    if (heap != NULL) {
        heap_start(heap, NULL, NULL, epoch, heap_next_affinity());
    }
    return heap;
}

/* Counting. */

/* The slots in the magazine of a class, and what went through it, by one look at its count. A report may look between
 * two writes of a slow path. A difference that is below zero then counts as zero. */
struct traffic {
    uint64_t slots, allocs, frees;
};

static struct traffic heap_traffic(const struct heap *heap, unsigned class)
{
    const uint64_t count = owned_get(&heap->front.magazine[class].count);
    const uint64_t capacity = load_plain(&heap->class[class].capacity), room = count & MAGAZINE_ROOM_MASK;
    const uint64_t slots = capacity > room ? capacity - room : 0;
    const uint64_t allocs = count >> MAGAZINE_SERVED_SHIFT;
    /* What is in the magazine, and what left it, but was not put there by a slow path. */
    const uint64_t frees = slots + allocs + counter_get(&heap->class[class].moved);
    return (struct traffic){ slots, allocs, (int64_t)frees < 0 ? 0 : frees };
}

static uint64_t cached_with(const struct heap_class *hc, uint64_t slots)
{
    return slots + counter_get(&hc->stock.slots) + counter_get(&hc->retired_slots) +
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

void heap_forget_counts(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    invariant(heap_cached(heap, class) == 0);
    owned_set(&heap->front.magazine[class].count, magazine_room(&heap->front.magazine[class]));
    counter_set(&hc->moved, 0);
    hc->window_allocs = hc->window_refilled = hc->idle_allocs = hc->idle_frees = 0;
    memset(&hc->counters, 0, sizeof hc->counters);
}

static void heap_flush_magazine(struct heap *heap, unsigned class)
{
    struct magazine *m = &heap->front.magazine[class];
    struct heap_class *hc = &heap->class[class];
    if (magazine_head(m) == NULL) {
        return;
    }
    invariant(heap_magazine_slots(heap, class) <= load_plain(&hc->capacity));
    const uint64_t slots = flush_chain(class, magazine_head(m));
    magazine_set_head(m, NULL);
    magazine_set_room(m, load_plain(&hc->capacity));
    counter_add(&hc->moved, slots);
    stock_missed(&heap->stock, &hc->stock, slots * class_geometry[class].size);
    counter_add(&hc->counters.flushes, 1);
    counter_add(&hc->counters.flushed, slots);
}

/* Hands the whole magazine over to the stock. False: the stock has no room. */
static bool heap_stock_magazine(struct heap *heap, unsigned class)
{
    struct magazine *m = &heap->front.magazine[class];
    struct heap_class *hc = &heap->class[class];
    const unsigned slots = heap_magazine_slots(heap, class);
    if (!stock_put(&heap->stock, &hc->stock, class, magazine_head(m), slots)) {
        return false;
    }
    magazine_set_head(m, NULL);
    magazine_set_room(m, load_plain(&hc->capacity));
    counter_add(&hc->moved, slots);
    counter_add(&hc->counters.stocked, 1);
    return true;
}

static void heap_flush_stock(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    while (counter_get(&hc->stock.slots) != 0) {
        unsigned slots;
        void *const chain = stock_take(&heap->stock, &hc->stock, class, &slots);
        (void)flush_chain(class, chain);
        counter_add(&hc->counters.flushes, 1);
        counter_add(&hc->counters.flushed, slots);
    }
    invariant(hc->stock.chains == 0);
}

/* Slabs. */

/* A relaxed look is enough: it only says whether it is worthwhile to go on. The thread that leaves a closed epoch
 * cleans up. */
static bool heap_is_open(const struct heap *heap)
{
    return epoch_word_state(load_plain(&heap->epoch->word)) == EPOCH_OPEN;
}

static void heap_detach_slab(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t claimed = load_plain(&hc->claimed);
    invariant(claimed == 0 || hc->slab != NULL);
    if (claimed != 0) {
        const struct slot first = slot_of(hc->claimed_start, class);
        flush_word(hc->slab, class, first.word, claimed);
        store_plain(&hc->claimed, 0);
    }
    if (hc->slab != NULL) {
        struct run *const slab = hc->slab;
        invariant(load_plain(&slab->word) == slab_word(SLAB_ATTACHED, class, heap->epoch->id));
        hc->slab = NULL;
        partial_detach(slab);
    }
}

/* Takes a run for a slab. A slab with handles needs a run whose places have generations left. Runs without any are held
 * back meanwhile, so that the depot does not return them again. 0: no memory. */
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
    invariant(first == 0 || arena.runs[first].units == units);
    return first;
}

/* Attaches a slab of the class that has slots, a partial one or a new one. False: no memory, or the epoch is closed. */
static bool heap_attach_slab(struct heap *heap, unsigned class)
{
    if (!heap_is_open(heap)) {
        return false;
    }
    const struct class_geometry *geometry = &class_geometry[class];
    struct heap_class *hc = &heap->class[class];
    invariant(hc->slab == NULL && load_plain(&hc->claimed) == 0);
    const uint32_t affinity = geometry->shares_lines ? heap->affinity : heap->epoch->affinity;
    hc->slab = partial_attach(&epoch_partials(heap->epoch)[class]);
    if (hc->slab != NULL) {
        invariant(load_plain(&hc->slab->word) == slab_word(SLAB_ATTACHED, class, heap->epoch->id));
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

/* Claims the lowest word of the attached slab that has slots, so that objects pack into few pages. */
static bool heap_claim_word(struct heap *heap, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    struct heap_class *hc = &heap->class[class];
    invariant(load_plain(&hc->claimed) == 0);
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
    invariant(claimed != 0 && most != 0);
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

static void window_of_allocs(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t allocs = magazine_served(&heap->front.magazine[class]) + counter_get(&hc->counters.bypassed_allocs);
    const uint64_t missed = counter_get(&hc->counters.refilled) + counter_get(&hc->counters.bypassed_allocs);
    const uint64_t n = allocs - hc->window_allocs;
    if (n < WINDOW) {
        return;
    }
    /* Every slot that did not come from an earlier free is a miss. */
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

/* Flushes the classes and hot runs that were not used between two ticks. Their magazines start small again. */
static noinline void heap_tick(struct heap *heap)
{
    invariant(heap->gate->is_inside);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *hc = &heap->class[c];
        struct class_sums sums = { 0 };
        heap_add(heap, c, &sums);
        if (sums.allocs == hc->idle_allocs && sums.frees == hc->idle_frees && sums.cached != 0) {
            heap_flush_magazine(heap, c);
            heap_flush_stock(heap, c);
            heap_detach_slab(heap, c);
            hc->batch = magazine_batch_first(c);
            heap_set_capacity(heap, c, magazine_capacity_first(c));
        }
        hc->idle_allocs = sums.allocs;
        hc->idle_frees = sums.frees;
    }
    if (!heap->hot.touched) {
        hot_flush(&heap->hot);
    }
    heap->hot.touched = false;
    stock_tick(&heap->stock);
}

static void slow_operation_end(struct heap *heap)
{
    invariant(heap->gate->is_inside);
    if (unlikely(++heap->operations % TICK_OPERATIONS == 0) && option_get(OPTION_MAGAZINES) != 0) {
        const uint64_t now_ms = os_now_ms();
        if (now_ms - heap->tick_ms >= TICK_MS) {
            heap->tick_ms = now_ms;
            heap_tick(heap);
        }
    }
    reclaim_tick();
    holes_tick(&epoch_process);
    gate_unlock(heap->gate);
}

/* In the gate. The magazine is empty. */
static void *heap_refill(struct heap *heap, unsigned class)
{
    struct magazine *m = &heap->front.magazine[class];
    struct heap_class *hc = &heap->class[class];
    const bool magazines = option_get(OPTION_MAGAZINES) != 0;
    const uint16_t capacity = load_plain(&hc->capacity);
    invariant(heap->gate->is_inside && magazine_head(m) == NULL);
    if (counter_get(&hc->stock.slots) != 0) {
        unsigned slots;
        void *const chain = stock_take(&heap->stock, &hc->stock, class, &slots);
        if (slots > capacity) {
            store_plain(&hc->capacity, (uint16_t)slots);
        }
        magazine_set_head(m, chain);
        magazine_set_room(m, load_plain(&hc->capacity) - slots);
        counter_add(&hc->moved, -(uint64_t)slots);
        return magazine_pop(m, magazine_head(m));
    }
    if (magazines) {
        window_of_allocs(heap, class);
        stock_learn(&heap->stock, &hc->stock);
    }
    if (load_plain(&hc->claimed) == 0 && !heap_claim_word(heap, class)) {
        return NULL;
    }
    if (hc->bypass_alloc) {
        return heap_hand_out(heap, class);
    }
    void *list;
    const unsigned n = link_claimed(hc, class_geometry[class].size, hc->batch < capacity ? hc->batch : capacity, &list);
    invariant(n != 0 && n <= capacity);
    hc->batch = (uint16_t)min_size((size_t)hc->batch * 2, magazine_batch_most(class));
    magazine_set_head(m, list);
    magazine_set_room(m, capacity - n);
    counter_add(&hc->moved, -(uint64_t)n);
    counter_add(&hc->counters.refills, 1);
    counter_add(&hc->counters.refilled, n);
    return magazine_pop(m, magazine_head(m));
}

/* There is no memory for the class. The last resort is to give back what this heap caches of other classes. */
static noinline void *heap_refill_at_last(struct heap *heap, unsigned class)
{
    heap_empty(heap);
    return heap_refill(heap, class);
}

void *heap_alloc_slow(struct heap *heap, unsigned class)
{
    gate_lock(heap->gate);
    void *p = heap_refill(heap, class);
    if (unlikely(p == NULL) && heap_is_open(heap)) {
        p = heap_refill_at_last(heap, class);
    }
    slow_operation_end(heap);
    return p;
}

/* Makes room in a full magazine: enlarges it, hands it to the stock, or flushes it. In the gate. */
static void heap_make_room(struct heap *heap, unsigned class)
{
    const struct heap_class *hc = &heap->class[class];
    const uint16_t most = magazine_capacity_most(class);
    const uint16_t capacity = load_plain(&hc->capacity);
    invariant(heap->gate->is_inside && magazine_room(&heap->front.magazine[class]) == 0);
    if (capacity < most) {
        heap_set_capacity(heap, class, (uint16_t)min_size((size_t)capacity * 2, most));
    } else if (!heap_stock_magazine(heap, class)) {
        heap_flush_magazine(heap, class);
    }
    invariant(magazine_room(&heap->front.magazine[class]) != 0);
}

void heap_free_full(struct heap *heap, unsigned class, void *p)
{
    invariant(magazine_room(&heap->front.magazine[class]) == 0);
    if (unlikely(option_get(OPTION_MAGAZINES) == 0)) {
        counter_add(&heap->class[class].counters.bypassed_frees, 1);
        heap_free_direct(heap, class, p);
        return;
    }
    gate_lock(heap->gate);
    heap_make_room(heap, class);
    magazine_push(&heap->front.magazine[class], magazine_head(&heap->front.magazine[class]), p);
    slow_operation_end(heap);
}

/* Evaluates a slab after the give of a single slot, when the give found that the slab's state may have to change. */
static noinline void look_after_free(struct gate *gate, struct run *slab)
{
    const int saved = errno;
    gate_lock(gate);
    partial_evaluate(slab);
    reclaim_tick();
    gate_unlock(gate);
    errno = saved;
}

void heap_free_direct(struct heap *heap, unsigned class, void *p)
{
    const struct slot slot = slot_of(p, class);
    gate_note(heap->gate, run_index(slot.slab));
    if (slab_give(slot.slab, &class_geometry[class], slot.word, slot.mask)) {
        look_after_free(heap->gate, slot.slab);
    }
}

void heap_retire(struct heap *heap, unsigned class, void *p)
{
    struct heap_class *hc = &heap->class[class];
    invariant(slot_starts(p, class));
    *slot_link(p) = hc->retired;
    hc->retired = p;
    counter_add(&hc->retired_slots, 1);
    counter_add(&hc->counters.remote_frees, 1); /* the slot was counted as allocated, but no user has it */
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
            invariant(counter_get(&hc->retired_slots) != 0);
            counter_set(&hc->retired_slots, counter_get(&hc->retired_slots) - 1);
            flush_word(slot.slab, c, slot.word, slot.mask);
        }
        invariant(counter_get(&hc->retired_slots) == 0);
    }
}

void heap_recount(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        unsigned slots = 0;
        for (void *p = magazine_head(&heap->front.magazine[c]); p != NULL; p = *slot_link(p)) {
            slots++;
        }
        invariant(slots <= load_plain(&heap->class[c].capacity));
        magazine_set_room(&heap->front.magazine[c], load_plain(&heap->class[c].capacity) - slots);
    }
}

void heap_empty(struct heap *heap)
{
    stock_reset_budget(&heap->stock);
    hot_flush(&heap->hot);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        heap_flush_magazine(heap, c);
        heap_flush_stock(heap, c);
        heap_detach_slab(heap, c);
    }
    invariant(heap->stock.bytes == 0 && counter_get(&heap->hot.total) == 0);
}
