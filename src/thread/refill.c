/* Slots come out of a slab by the word of its bitmap. Slots of a word that a refill does not need stay claimed. */
#include "thread/refill.h"

#include "common/option.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "slab/epoch_record.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/reclaim.h"
#include "thread/exchange.h"
#include "thread/resting.h"
#include "thread/upkeep.h"

/* Where there are more threads than SHARED_FROM, a heap that takes fewer than ATTACH_FROM slots at once gives the slab
 * back at once, and so does a heap that takes one: threads that need little of a class share its slabs, and each weighs
 * what it uses (docs/decisions/magazines.md). */
enum { EPOCH_BATCH_BYTES = 8 * 1024, ATTACH_FROM = 16, SHARED_FROM = TSLAB_SIM ? 1 : 16 };

/* A relaxed look is enough: it only says whether it is worthwhile to go on. The thread that leaves a closed epoch
 * cleans up. */
static bool heap_is_open(const struct heap *heap)
{
    return epoch_word_state(load_plain(&heap->epoch->word)) == EPOCH_OPEN;
}

/* Attaches a partial slab. At a hard limit it is one whose pages are there, or find room. NULL: there is none. */
static struct run *attach_partial(struct partial_list *partial)
{
    for (uint32_t left = counter_get(&partial->length); left != UINT32_MAX; left--) {
        struct run *const slab = partial_attach(partial);
        if (slab == NULL || limit_takes_back(slab)) {
            return slab;
        }
        partial_detach(slab);
    }
    return NULL;
}

/* Attaches a slab of the class that has slots, a partial one or a new one. False: no memory, or the epoch is closed. */
static bool attach_slab(struct heap *heap, unsigned class)
{
    if (!heap_is_open(heap)) {
        return false;
    }
    const struct class_geometry *geometry = &class_geometry[class];
    struct heap_class *hc = heap_class_of(heap, class);
    invariant(hc->slab == NULL && load_plain(&hc->claimed) == 0);
    const uint32_t affinity = geometry->shares_lines ? heap->affinity : heap->epoch->affinity;
    hc->slab = attach_partial(&epoch_partials(heap->epoch)[class]);
    if (hc->slab != NULL) {
        invariant(load_plain(&hc->slab->word) == slab_word(SLAB_ATTACHED, class, heap->epoch->id));
        counter_add(&hc->counters.attached, 1);
        if (geometry->shares_lines) {
            slab_set_affinity(hc->slab, class, affinity);
        }
        return true;
    }
    bool clean;
    const uint32_t first = epoch_allows(heap->epoch, geometry->units) ? run_alloc_to_fill(geometry->units, &clean) : 0;
    if (first == 0) {
        return false;
    }
    slab_open(first, class, heap->epoch->id, affinity, clean);
    if (heap->epoch != &epoch_process) {
        epoch_link_run(heap->epoch, first);
    } else {
        (void)fetch_add_relaxed(&depot_usage.slot_bytes, class_bytes(class));
    }
    hc->slab = &arena.runs[first];
    counter_add(&hc->counters.opened, 1);
    return true;
}

/* Claims the lowest word of the attached slab that has slots, so that objects pack into few pages. */
static bool claim_word(struct heap *heap, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    struct heap_class *hc = heap_class_of(heap, class);
    invariant(load_plain(&hc->claimed) == 0);
    for (;;) {
        for (unsigned w = 0; hc->slab != NULL && w < geometry->words; w++) {
            const uint64_t taken = slab_take(hc->slab, geometry, w);
            if (taken != 0) {
                heap_count_out(heap, hc->slab, class, (int)bit_count(taken));
                store_plain(&hc->claimed, taken);
                hc->claimed_start = arena_address(run_index(hc->slab)) + (size_t)w * WORD_SLOTS * geometry->size;
                hc->claimed_fresh = slab_was_fresh(hc->slab, w);
                return true;
            }
        }
        heap_detach_slab(heap, class);
        if (!attach_slab(heap, class)) {
            return false;
        }
    }
}

/* Writes the addresses of the n lowest claimed slots into the places from 1 to n, the lowest one last, so that it is
 * handed out first. There are as many. */
static void take_claimed(struct heap_class *hc, size_t size, void **places, unsigned n)
{
    uint64_t claimed = load_plain(&hc->claimed);
    void **at = places + n;
    invariant(n != 0 && n <= bit_count(claimed));
    while (at != places) {
        /* Slots in a row, as in every new slab. */
        const unsigned lowest = bit_lowest(claimed);
        const uint64_t behind = ~(claimed >> lowest);
        const unsigned row = behind == 0 ? WORD_SLOTS : bit_lowest(behind);
        void **const last = row < (size_t)(at - places) ? at - row : places;
        char *p = hc->claimed_start + lowest * size;
        claimed &= ~(SLOT_BITS(at - last) << lowest);
        for (; at != last; at--, p += size) {
            *at = p;
        }
    }
    invariant(at == places && places[0] == NULL);
    pages_touch(places[n], (const char *)places[1] + size);
    store_plain(&hc->claimed, claimed);
}

static bool is_crowded(void)
{
    return load_relaxed(&heap_live_count) > SHARED_FROM;
}

/* The size of the next refill, in quarters of a slot. Many threads, each of which may use little of the class, take one
 * slot at first, and so do the scopes of epochs. */
static unsigned quarters_of(const struct heap *heap, unsigned class)
{
    const struct heap_class *const hc = heap_class_of(heap, class);
    if (hc->refill_quarters != 0) {
        return hc->refill_quarters;
    }
    return 4 * (is_crowded() || heap->epoch != &epoch_process ? 1 : magazine_batch_first(class));
}

/* And of the one after it. Many threads take little more than what they use, which costs them more refills. So do
 * epochs: a thread may leave them soon, and slots that go back unused count as memory that is there. */
static unsigned next_refill_quarters(const struct heap *heap, unsigned quarters, unsigned class)
{
    const size_t few = max_size(EPOCH_BATCH_BYTES / class_geometry[class].size, 1);
    const size_t most = heap->epoch == &epoch_process ? SIZE_MAX : few;
    const unsigned more = is_crowded() ? quarters / 4 : quarters;
    invariant(more != 0);
    return (unsigned)min_size(quarters + more, 4 * min_size(magazine_batch_most(class), most));
}

/* Fills the empty magazine with a batch of slots from a slab. False: no memory, or the epoch is closed. In the gate. */
static bool refill_from_slab(struct heap *heap, unsigned class)
{
    struct magazine *const m = &heap->front.magazine[class];
    struct heap_class *const hc = heap_class_of(heap, class);
    invariant(heap->gate->is_inside);
    trace_slow(SLOW_SLAB, class_geometry[class].size);
    if (load_plain(&hc->claimed) == 0 && !claim_word(heap, class)) {
        return false;
    }
    const unsigned quarters = quarters_of(heap, class), wanted = quarters / 4;
    const unsigned there = bit_count(load_plain(&hc->claimed));
    if (wanted > m->limit) {
        heap_lengthen(heap, class, wanted);
    }
    invariant(magazine_slots(m) == 0 && there != 0);
    const unsigned limit = m->limit;
    const unsigned n = (unsigned)min_size(min_size(wanted, limit), there);
    take_claimed(hc, class_geometry[class].size, magazine_places(m), n);
    magazine_set(m, magazine_places(m), limit, n);
    invariant(n != 0 && n <= limit && magazine_slots(m) == n);
    owned_set(&hc->fresh, hc->claimed_fresh ? heap_handed_out(heap, class) + n : UINT64_MAX);
    hc->refill_quarters = (uint16_t)next_refill_quarters(heap, quarters, class);
    const bool few = wanted == 1 || is_crowded();
    if (min_size(wanted, limit) < ATTACH_FROM && heap->epoch == &epoch_process && few) {
        heap_detach_slab(heap, class);
    }
    counter_sub(&hc->slots_removed, n);
    counter_add(&hc->counters.refills, 1);
    counter_add(&hc->counters.refilled, n);
    return true;
}

/* Gives the empty magazine a tray of the exchange, for an empty one. False: the exchange has none. */
static bool load_exchanged(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    if (heap->epoch != &epoch_process) {
        return false;
    }
    invariant(magazine_slots(&heap->front.magazine[class]) == 0 && counter_get(&hc->kept_slots) == 0);
    struct tray *const full = exchange_take(class, &hc->kept);
    if (full != NULL) {
        trace_slow(SLOW_EXCHANGE, class_geometry[class].size);
        heap_load(heap, class, full);
        counter_add(&hc->counters.from_exchange, 1);
    }
    return full != NULL;
}

/* The magazine is empty, but for what a bar had hidden. In the gate. */
static void *refill(struct heap *heap, unsigned class)
{
    struct magazine *const m = &heap->front.magazine[class];
    invariant(heap->gate->is_inside);
    heap_use(heap, class);
    struct heap_class *const hc = heap_class_of(heap, class);
    if (unlikely(option_get(OPTION_MAGAZINES) == 0)) {
        return load_plain(&hc->claimed) != 0 || claim_word(heap, class) ? refill_hand_out(heap, class) : NULL;
    }
    if (magazine_slots(m) != 0) {
        return magazine_take(m);
    }
    const bool is_full = heap_load_kept(heap, class) || load_exchanged(heap, class) || refill_from_slab(heap, class);
    return is_full ? magazine_take(m) : NULL;
}

/* There is no memory for the class. The last resort is to give back what this heap caches of other classes, and what
 * waits in the exchange. */
static noinline void *refill_at_last(struct heap *heap, unsigned class)
{
    trace_slow(SLOW_LAST, class_geometry[class].size);
    heap_empty(heap);
    exchange_tick(true);
    (void)resting_look(UINT64_MAX);
    return refill(heap, class);
}

void *refill_alloc(struct heap *heap, unsigned class)
{
    gate_lock(heap->gate);
    void *p = refill(heap, class);
    if (unlikely(p == NULL) && heap_is_open(heap)) {
        p = refill_at_last(heap, class);
    }
    upkeep_and_unlock(heap);
    return p;
}
