/* The heap: its counts, its trays, and the ways in which it gives slots back: when it ends, and class by class when
 * they are idle. */
#include "thread/heap.h"

#include "common/metadata.h"
#include "common/option.h"
#include "common/trace.h"
#include "os/os.h"
#include "slab/epoch_record.h"
#include "thread/cache_budget.h"
#include "thread/exchange.h"
#include "thread/flush.h"

#include <string.h>

enum { FEW_THREADS = 16 };

struct heap heap_none;
/* clang-format off */
#define NO_FRONT                                                                                                       \
    { .magazine = { [0 ... CLASS_LIMIT - 1] = { .top = magazine_none, .end = magazine_none } },                         \
      .innermost = &hold_none, .filling = &hold_none, .heap = &heap_none }
/* clang-format on */
struct front front_none = NO_FRONT;
struct front front_late = NO_FRONT;
struct front front_gone = NO_FRONT;

per_thread struct front *front_current = &front_none;

atomic_u32 heap_live_count, heap_idle_count;

bool heap_serves_malloc;

_Atomic(struct heap *) heap_made;

uint32_t heap_next_affinity(void)
{
    static atomic_u32 next = AFFINITY_FIRST_HEAP;
    return fetch_add_relaxed(&next, 1);
}

void heap_retag(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        invariant(magazine_slots(&heap->front.magazine[c]) == 0);
        heap->front.magazine[c].tag =
            tag_of(c, class_geometry[c].shares_lines ? heap->affinity : heap->epoch->affinity);
    }
}

void front_start(struct front *front)
{
    for (unsigned c = 0; c < CLASS_LIMIT; c++) {
        magazine_reset(&front->magazine[c]);
        owned_set(&front->magazine[c].counts, COUNTS_NONE);
    }
    front->magazine[CLASS_NONE].tag = TAG_NEVER;
    front->innermost = &hold_none;
    front->filling = &hold_none;
}

void heap_start(struct heap *heap, struct thread *thread, struct gate *gate, struct epoch *epoch, uint32_t affinity)
{
    invariant((thread == NULL) == (gate == NULL) && affinity >= AFFINITY_FIRST_HEAP);
    heap->front.thread = thread;
    heap->front.heap = heap;
    heap->gate = gate;
    heap->epoch = epoch;
    heap->affinity = affinity;
    heap->looked_ms = os_now_ms();
    front_start(&heap->front);
    heap_retag(heap);
}

struct heap *heap_make(struct epoch *epoch, uint32_t affinity)
{
    struct heap *heap = metadata_alloc(sizeof *heap);
    if (heap != NULL) {
        heap_start(heap, NULL, NULL, epoch, affinity);
        heap->made_before = load_acquire(&heap_made);
        while (!cas_release(&heap_made, &heap->made_before, heap)) {
        }
    }
    return heap;
}

unsigned heap_used(const struct heap *heap)
{
    unsigned most = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        const unsigned index = load_plain(&heap->class_index[c]);
        most = index > most ? index : most;
    }
    return most;
}

/* A fork may cut the thread before the index is there. Its child finds nothing begun. The first touch is a write. To
 * read memory that was never written maps the page of zeros, and the write after that costs a second fault, for which
 * all processors are interrupted that the process runs on. */
noinline void heap_use_first(struct heap *heap, unsigned class)
{
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && heap != &heap_none);
    const uint8_t index = (uint8_t)(heap_used(heap) + 1);
    invariant(index < CLASS_LIMIT && !heap_uses(heap, class));
    heap->classes[index].refill_quarters = 0;
    heap->classes[index].first.tray.length = TRAY_FIRST; /* it may lie in the next page */
    store_release(&heap->class_index[class], index);
}

/* Counting. */

/* The slots in the magazine of a class, and what went through it. A report may look between two writes of the holder. A
 * difference that is below zero then counts as zero. */
struct traffic {
    uint64_t slots, allocs, frees;
};

static struct traffic heap_traffic(const struct heap *heap, unsigned class)
{
    const struct magazine *const m = &heap->front.magazine[class];
    const uint64_t allocs = heap_handed_out(heap, class), limit = owned_load(&m->limit);
    void **const places = owned_load(&m->end) - limit;
    const uint64_t slots = (uint64_t)(owned_load(&m->top) - places);
    if (slots > limit) { /* the magazine got another tray meanwhile */
        return (struct traffic){ 0, allocs, allocs };
    }
    /* The slots in the magazine, and those that left it, but were not put there by a slow path. */
    const uint64_t frees = slots + allocs + counter_get(&heap_class_of(heap, class)->slots_removed);
    return (struct traffic){ slots, allocs, (int64_t)frees < 0 ? 0 : frees };
}

static uint64_t cached_with(const struct heap_class *hc, uint64_t slots)
{
    return slots + counter_get(&hc->kept_slots) + counter_get(&hc->outbox_slots) + bit_count(load_plain(&hc->claimed));
}

/* The pages of n slots side by side that were never touched. Where pages are no parts of slots, those at the ends may
 * have been touched with their neighbours. */
static uint64_t never_touched(unsigned class, uint64_t n)
{
    const size_t page = os_page_bytes(), size = class_geometry[class].size;
    const uint64_t bytes = n * size;
    return size % page == 0 ? bytes : bytes > page ? round_down(bytes - page, page) : 0;
}

void heap_add_held(const struct heap *heap, unsigned class, struct class_held *held)
{
    const struct heap_class *hc = heap_class_of(heap, class);
    if (!heap_uses(heap, class)) {
        return;
    }
    const struct traffic traffic = heap_traffic(heap, class);
    const uint64_t claimed = bit_count(load_plain(&hc->claimed));
    /* `fresh` is the sum when the slots came in. At most, the slots handed out since then are gone. */
    const uint64_t fresh = owned_get(&hc->fresh);
    const uint64_t left = fresh != UINT64_MAX && fresh > traffic.allocs ? fresh - traffic.allocs : 0;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && claimed <= WORD_SLOTS);
    held->magazine += traffic.slots + counter_get(&hc->kept_slots);
    held->outbox += counter_get(&hc->outbox_slots);
    held->claimed += claimed;
    held->magazine_untouched += never_touched(class, min_size(left, traffic.slots));
}

uint64_t heap_cached(const struct heap *heap, unsigned class)
{
    return heap_uses(heap, class) ? cached_with(heap_class_of(heap, class), heap_traffic(heap, class).slots) : 0;
}

void heap_add(const struct heap *heap, unsigned class, struct class_sums *sums)
{
    const struct heap_class *hc = heap_class_of(heap, class);
    if (!heap_uses(heap, class)) {
        return;
    }
    const struct class_counters *counters = &hc->counters;
    const struct traffic traffic = heap_traffic(heap, class);
    const uint64_t bypassed_allocs = counter_get(&counters->bypassed_allocs);
    const uint64_t bypassed_frees = counter_get(&counters->bypassed_frees);
    const uint64_t remote_frees = counter_get(&counters->remote_frees);
    sums->allocations += traffic.allocs + bypassed_allocs;
    sums->frees += traffic.frees + bypassed_frees + remote_frees;
    sums->cached += cached_with(hc, traffic.slots);
    sums->refills += counter_get(&counters->refills);
    sums->refilled += counter_get(&counters->refilled);
    sums->flushes += counter_get(&counters->flushes);
    sums->flushed += counter_get(&counters->flushed);
    sums->exchanged += counter_get(&counters->exchanged);
    sums->bypassed += bypassed_allocs + bypassed_frees;
    sums->remote_frees += remote_frees;
    sums->slabs_new += counter_get(&counters->opened);
    sums->slabs_attached += counter_get(&counters->attached);
    sums->from_exchange += counter_get(&counters->from_exchange);
}

/* Trays. */

static bool is_first_tray(const struct heap *heap, unsigned class, const struct tray *tray)
{
    return tray == &heap_class_of(heap, class)->first.tray;
}

/* The bytes that so many slots count in the budget of all caches. */
static size_t slots_bytes(unsigned class, unsigned slots)
{
    return (size_t)slots * class_geometry[class].size;
}

/* The slots that a magazine or an outbox may have if it had `before`, which is what it asks for as far as the budget
 * goes, and in any case a few where few threads are awake, or one. */
static unsigned budget_slots(struct heap *heap, unsigned class, unsigned before, unsigned wanted)
{
    const uint32_t threads = load_relaxed(&heap_live_count);
    const bool few = threads - min_size(load_relaxed(&heap_idle_count), threads) <= FEW_THREADS;
    const unsigned least = (unsigned)min_size(wanted, few ? magazine_limit_least(class) : 1);
    invariant(wanted != 0 && before <= TRAY_MOST);
    if (wanted <= before || cache_budget_has(threads, heap->limit_bytes, slots_bytes(class, wanted - before))) {
        return (unsigned)max_size(before, wanted);
    }
    heap->is_short = true;
    return (unsigned)max_size(before, least);
}

void heap_set_idle(struct heap *heap, bool idle)
{
    if (heap->is_idle != idle) {
        heap->is_idle = idle;
        (void)fetch_add_relaxed(&heap_idle_count, idle ? 1 : UINT32_MAX);
    }
}

void heap_change_budget(struct heap *heap, unsigned class, unsigned before, unsigned now)
{
    heap_set_idle(heap, false);
    if (before != now) {
        const size_t bytes = slots_bytes(class, now) - slots_bytes(class, before);
        heap->limit_bytes += bytes;
        cache_budget_change(bytes);
        invariant(heap->limit_bytes <= cache_budget_taken());
    }
}

void heap_set_magazine(struct heap *heap, unsigned class, void **places, unsigned limit, unsigned slots)
{
    struct magazine *const m = &heap->front.magazine[class];
    heap_change_budget(heap, class, m->limit, limit);
    magazine_set(m, places, limit, slots);
    owned_set(&heap_class_of(heap, class)->fresh, UINT64_MAX);
}

void heap_give_empty(struct heap *heap, unsigned class, struct tray *empty)
{
    heap_use(heap, class);
    if (empty == NULL) {
        empty = &heap_class_of(heap, class)->first.tray;
    }
    const unsigned most = (unsigned)min_size(empty->length, magazine_limit_most(class));
    const unsigned limit = budget_slots(heap, class, heap->front.magazine[class].limit, most);
    heap_set_magazine(heap, class, tray_places(empty), (unsigned)min_size(limit, most), 0);
}

void heap_lengthen(struct heap *heap, unsigned class, unsigned slots)
{
    struct magazine *const m = &heap->front.magazine[class];
    invariant(heap->gate->is_inside && slots <= magazine_limit_most(class));
    if (m->limit == 0) {
        heap_give_empty(heap, class, NULL);
    }
    void **const places = magazine_places(m);
    struct tray *const old = tray_of(places);
    const unsigned n = magazine_slots(m);
    const unsigned limit = budget_slots(heap, class, m->limit, (unsigned)max_size(m->limit, slots));
    if (limit < slots && limit == m->limit) {
        return;
    }
    if (limit <= old->length && !(is_first_tray(heap, class, old) && n == limit)) {
        heap_set_magazine(heap, class, places, limit, n);
        return;
    }
    invariant(n <= limit && old->length >= m->limit);
    struct tray *const longer = tray_take(limit);
    if (longer != NULL) {
        memcpy(tray_places(longer), places, (1 + (size_t)n) * sizeof *places);
        heap_set_magazine(heap, class, tray_places(longer), limit, n);
        if (!is_first_tray(heap, class, old)) {
            tray_put(old);
        }
    }
}

void heap_lengthen_outbox(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    const unsigned most = magazine_limit_most(class), before = hc->outbox_limit;
    const unsigned longer =
        budget_slots(heap, class, before, (unsigned)min_size(max_size((size_t)before * 2, TRAY_FIRST), most));
    invariant(counter_get(&hc->outbox_slots) == 0 && (hc->outbox == NULL) == (before == 0));
    invariant(longer >= before && longer <= max_size(most, before));
    struct tray *const tray = longer > before ? tray_take(longer) : NULL;
    if (tray != NULL) {
        if (hc->outbox != NULL) {
            tray_put(tray_of(hc->outbox));
        }
        heap_change_budget(heap, class, before, longer);
        hc->outbox = tray_places(tray);
        hc->outbox_limit = longer;
    }
}

void heap_load(struct heap *heap, unsigned class, struct tray *tray)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    const struct magazine *const m = &heap->front.magazine[class];
    const unsigned most = magazine_limit_most(class);
    invariant(magazine_slots(m) == 0 && tray->count != 0);
    struct tray *const old = m->limit == 0 ? NULL : tray_of(magazine_places(m));
    const unsigned limit = budget_slots(heap, class, m->limit, (unsigned)min_size(tray->length, most));
    heap_set_magazine(heap, class, tray_places(tray), (unsigned)min_size(max_size(limit, tray->count), tray->length),
                      tray->count);
    counter_sub(&hc->slots_removed, tray->count);
    if (old == NULL || is_first_tray(heap, class, old)) {
        return;
    }
    if (hc->kept == NULL && old->length >= most) {
        hc->kept = old;
    } else {
        tray_put(old);
    }
}

bool heap_load_kept(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    struct tray *const full = hc->kept;
    if (counter_get(&hc->kept_slots) == 0) {
        return false;
    }
    trace_slow(SLOW_KEPT, class_geometry[class].size);
    invariant(full->count == counter_get(&hc->kept_slots));
    heap_replace_kept(heap, class, NULL);
    exchange_unkeep(class, full);
    heap_load(heap, class, full);
    return true;
}

void heap_replace_kept(struct heap *heap, unsigned class, struct tray *empty)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    invariant(heap->gate->is_inside && counter_get(&hc->kept_slots) != 0);
    invariant(empty == NULL || empty->length <= TRAY_MOST);
    counter_set(&hc->kept_slots, 0);
    hc->kept = empty;
}

bool heap_keep(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    const struct magazine *const m = &heap->front.magazine[class];
    const unsigned slots = magazine_slots(m);
    struct tray *const full = tray_of(magazine_places(m)), *const empty = hc->kept;
    invariant(heap->gate->is_inside && slots != 0 && !is_first_tray(heap, class, full));
    invariant(counter_get(&hc->kept_slots) == 0);
    full->count = slots;
    if (!exchange_keep(class, full)) {
        return false;
    }
    hc->kept = full;
    counter_set(&hc->kept_slots, slots);
    counter_add(&hc->slots_removed, slots);
    heap_give_empty(heap, class, empty != NULL ? empty : tray_take(magazine_limit_most(class)));
    return true;
}

/* Puts the trays of an empty class back into the pool. Its magazine starts short again. */
static void put_trays(struct heap *heap, unsigned class)
{
    struct magazine *const m = &heap->front.magazine[class];
    struct heap_class *const hc = heap_class_of(heap, class);
    invariant(magazine_slots(m) == 0 && counter_get(&hc->outbox_slots) == 0 && counter_get(&hc->kept_slots) == 0);
    if (m->limit != 0 && !is_first_tray(heap, class, tray_of(magazine_places(m)))) {
        tray_put(tray_of(magazine_places(m)));
    }
    if (hc->kept != NULL) {
        tray_put(hc->kept);
        hc->kept = NULL;
    }
    if (hc->outbox != NULL) {
        tray_put(tray_of(hc->outbox));
        hc->outbox = NULL;
    }
    heap_set_magazine(heap, class, magazine_none, 0, 0);
    heap_change_budget(heap, class, hc->outbox_limit, 0);
    hc->outbox_limit = 0;
    hc->refill_quarters = 0;
}

/* Giving back. */

void heap_count_out(struct heap *heap, const struct run *slab, unsigned class, int slots)
{
    enum { LATE_BYTES = 64 * 1024 };
    invariant(heap != &heap_none && heap->fetched_bytes < LATE_BYTES);
    const ptrdiff_t bytes = slots * (ptrdiff_t)class_geometry[class].size;
    invariant(slots != 0 && word_class(load_plain(&slab->word)) == class &&
              word_state(load_plain(&slab->word)) != SLAB_EMPTY);
    if (word_epoch(load_plain(&slab->word)) != epoch_process.id) {
        return;
    }
    heap->out_bytes += bytes;
    heap->fetched_bytes += bytes > 0 ? (size_t)bytes : 0;
    if (heap->out_bytes >= LATE_BYTES || heap->out_bytes <= -LATE_BYTES || heap->fetched_bytes >= LATE_BYTES) {
        (void)fetch_add_relaxed(&depot_usage.out_bytes, (size_t)heap->out_bytes);
        exchange_fetched(heap->fetched_bytes);
        heap->out_bytes = 0;
        heap->fetched_bytes = 0;
    }
}

static void count_flush(struct heap_class *hc, uint64_t slots)
{
    counter_add(&hc->counters.flushes, 1);
    counter_add(&hc->counters.flushed, slots);
}

void heap_flush_slots(struct heap *heap, unsigned class, void *const *slots, uint32_t n)
{
    invariant(n != 0 && n <= TRAY_MOST && class != CLASS_NONE && class < CLASS_LIMIT);
    heap_count_out(heap, slot_of(slots[0], class).slab, class, -(int)n);
    flush_slots(class, slots, n);
    count_flush(heap_class_of(heap, class), n);
    exchange_drain(class);
}

void heap_flush_kept(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    const uint32_t slots = counter_get(&hc->kept_slots);
    if (slots != 0) {
        heap_flush_slots(heap, class, tray_places(hc->kept) + 1, slots);
        counter_set(&hc->kept_slots, 0);
        exchange_unkeep(class, hc->kept);
    }
}

void heap_flush_magazine(struct heap *heap, unsigned class)
{
    const struct magazine *const m = &heap->front.magazine[class];
    const unsigned slots = magazine_slots(m);
    if (slots != 0) {
        heap_flush_slots(heap, class, magazine_places(m) + 1, slots);
        heap_set_magazine(heap, class, magazine_places(m), m->limit, 0);
        counter_add(&heap_class_of(heap, class)->slots_removed, slots);
    }
    if (exchange_is_draining(class)) {
        heap_flush_kept(heap, class);
    }
}

void heap_flush_outbox(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    const uint32_t slots = counter_get(&hc->outbox_slots);
    invariant(slots <= hc->outbox_limit);
    if (slots != 0) {
        heap_flush_slots(heap, class, hc->outbox + 1, slots);
        counter_set(&hc->outbox_slots, 0);
    }
}

void heap_detach_slab(struct heap *heap, unsigned class)
{
    struct heap_class *hc = heap_class_of(heap, class);
    const uint64_t claimed = load_plain(&hc->claimed);
    invariant(claimed == 0 || hc->slab != NULL);
    if (claimed != 0) {
        const struct slot first = slot_of(hc->claimed_start, class);
        heap_count_out(heap, hc->slab, class, -(int)bit_count(claimed));
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

static void empty_class(struct heap *heap, unsigned class)
{
    heap_flush_magazine(heap, class);
    heap_flush_kept(heap, class);
    heap_flush_outbox(heap, class);
    heap_detach_slab(heap, class);
    put_trays(heap, class);
}

void heap_empty(struct heap *heap)
{
    hot_runs_flush(&heap->hot);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_uses(heap, c)) {
            empty_class(heap, c);
        }
    }
    invariant(hot_runs_units(&heap->hot) == 0);
}

static size_t heap_bytes(const struct heap *heap)
{
    size_t bytes = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        bytes += heap_cached(heap, c) * class_geometry[c].size;
    }
    return bytes;
}

size_t heap_weight(struct heap *heap)
{
    if (heap->operations != heap->operations_seen) {
        heap->operations_seen = heap->operations;
        heap->weight = heap_bytes(heap);
    }
    return heap->weight;
}

void heap_lighten(struct heap *heap, size_t bytes)
{
    size_t cached = heap_bytes(heap);
    for (unsigned c = CLASS_LIMIT - 1; c > 0 && cached > bytes; c--) {
        cached -= heap_cached(heap, c) * class_geometry[c].size;
        if (heap_uses(heap, c)) {
            empty_class(heap, c);
        }
    }
    invariant(cached <= bytes);
    heap->weight = cached;
}

void heap_rest(struct heap *heap)
{
    heap_set_idle(heap, false);
    hot_runs_flush(&heap->hot);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_uses(heap, c)) {
            heap_flush_outbox(heap, c);
        }
    }
    invariant(heap->epoch == &epoch_process && hot_runs_units(&heap->hot) == 0);
}

noinline void heap_empty_unused(struct heap *heap)
{
    invariant(heap->gate->is_inside);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *hc = heap_class_of(heap, c);
        struct class_sums sums = { 0 };
        if (!heap_uses(heap, c)) {
            continue;
        }
        heap_add(heap, c, &sums);
        if (sums.allocations + sums.frees == hc->idle_operations && sums.cached != 0) {
            empty_class(heap, c);
        }
        hc->idle_operations = sums.allocations + sums.frees;
    }
}
