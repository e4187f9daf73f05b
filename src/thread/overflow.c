/* A full magazine becomes longer, or its tray changes hands, or it is flushed. */
#include "thread/overflow.h"

#include "common/misuse.h"
#include "common/option.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "thread/exchange.h"
#include "thread/flush.h"
#include "thread/upkeep.h"

#include <errno.h>

/* Makes room for a full tray beside the magazine: the one that is there goes to the exchange. False: the exchange does
 * not take it.
 *
 * Slots of several threads that are mixed in one tray do not go there. A thread that took such a tray would touch
 * scattered slots and free them in the same order, so they would stay mixed. Returning them to their slabs sorts them
 * (docs/decisions/remote-frees.md). */
static bool exchange_kept(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    const uint32_t slots = counter_get(&hc->kept_slots);
    struct tray *empty = NULL;
    invariant(slots == 0 || hc->kept->count == slots);
    if (slots == 0) {
        return true;
    }
    if (!heap_may_exchange(heap, class) || flush_mixes_slabs(class, tray_places(hc->kept) + 1, slots) ||
        !exchange_put(class, hc->kept, &empty)) {
        return false;
    }
    invariant(empty == NULL || empty->count <= empty->length);
    counter_add(&hc->counters.exchanged, 1);
    heap_replace_kept(heap, class, empty);
    return true;
}

/* The full tray of the magazine goes on as a whole. False: it has to be flushed. */
static bool hand_over(struct heap *heap, unsigned class)
{
    const struct magazine *const m = &heap->front.magazine[class];
    invariant(heap->gate->is_inside && magazine_is_full(m));
    if (magazine_places(m) == heap_class_of(heap, class)->first.places /* there was no longer one */) {
        return false;
    }
    const bool is_over = !exchange_is_draining(class) && exchange_kept(heap, class) && heap_keep(heap, class);
    if (is_over) {
        trace_slow(SLOW_HAND_OVER, class_geometry[class].size);
    }
    return is_over;
}

/* Makes room in a full magazine. In the gate. */
static void make_room(struct heap *heap, unsigned class)
{
    const struct magazine *const m = &heap->front.magazine[class];
    const unsigned most = magazine_limit_most(class);
    invariant(heap->gate->is_inside && magazine_is_full(m));
    const unsigned limit = m->limit;
    invariant(limit <= most && option_get(OPTION_MAGAZINES) != 0);
    if (limit < most || magazine_places(m) == heap_class_of(heap, class)->first.places) {
        heap_lengthen(heap, class, (unsigned)min_size(max_size((size_t)limit * 2, TRAY_FIRST), most));
    }
    if (magazine_is_full(m) && !hand_over(heap, class)) {
        trace_slow(SLOW_FLUSH, class_geometry[class].size);
        heap_flush_magazine(heap, class);
    }
    invariant(!magazine_is_full(m));
}

void overflow_free(struct heap *heap, unsigned class, void *p)
{
    invariant(magazine_is_full(&heap->front.magazine[class]));
    if (unlikely(option_get(OPTION_MAGAZINES) == 0)) {
        heap_use(heap, class);
        counter_add(&heap_class_of(heap, class)->counters.bypassed_frees, 1);
        overflow_free_direct(heap, class, p);
        return;
    }
    gate_lock(heap->gate);
    if (magazine_is_full(&heap->front.magazine[class])) {
        make_room(heap, class);
    }
    magazine_push(&heap->front.magazine[class], p);
    upkeep_and_unlock(heap);
}

/* Makes room in a full outbox, which is longer each time. There is none where there is no memory, or where the end of
 * the operation has emptied the class. */
static void outbox_renew(struct heap *heap, unsigned class)
{
    const int saved = errno;
    gate_lock(heap->gate);
    trace_slow(SLOW_OUTBOX, class_geometry[class].size);
    heap_flush_outbox(heap, class);
    heap_lengthen_outbox(heap, class);
    upkeep_and_unlock(heap);
    errno = saved;
}

void overflow_free_remote(struct heap *heap, unsigned class, void *p)
{
    invariant(slot_starts(p, class) && heap->epoch == &epoch_process);
    heap_use(heap, class);
    struct heap_class *const hc = heap_class_of(heap, class);
    counter_add(&hc->counters.remote_frees, 1);
    if (unlikely(counter_get(&hc->outbox_slots) == hc->outbox_limit)) {
        if (option_get(OPTION_MAGAZINES) != 0) {
            outbox_renew(heap, class);
        }
        if (counter_get(&hc->outbox_slots) == hc->outbox_limit) {
            overflow_free_direct(heap, class, p);
            return;
        }
    }
    const uint32_t slots = counter_get(&hc->outbox_slots);
    if (unlikely(hc->outbox[slots] == p)) {
        misuse("double free of", p);
    }
    invariant(slots < hc->outbox_limit && arena_tag(p) != heap->front.magazine[class].tag);
    owned_write(&hc->outbox[slots + 1], p);
    /* The child of a fork finds each slot that is counted. */
    store_release(&hc->outbox_slots, slots + 1);
}

/* Evaluates a slab after the give of a single slot, when the give found that the slab's state may have to change. */
static noinline void look_after_free(struct heap *heap, struct run *slab)
{
    const int saved = errno;
    gate_lock(heap->gate);
    partial_evaluate(slab);
    upkeep_and_unlock(heap);
    errno = saved;
}

void overflow_free_direct(struct heap *heap, unsigned class, void *p)
{
    const struct slot slot = slot_of(p, class);
    gate_note(heap->gate, run_index(slot.slab));
    if (word_epoch(load_plain(&slot.slab->word)) == epoch_process.id) {
        (void)fetch_sub_relaxed(&depot_usage.out_bytes, class_geometry[class].size); /* outside of the gate */
    }
    if (slab_give(slot.slab, &class_geometry[class], slot.word, slot.mask)) {
        trace_slow(SLOW_SLAB_LOOK, class_geometry[class].size);
        look_after_free(heap, slot.slab);
    }
}
