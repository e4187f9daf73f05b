/* Bars, and what is below them. */
#include "thread/idle.h"

#include "common/option.h"
#include "os/fatal.h"
#include "os/os.h"
#include "thread/exchange.h"
#include "thread/thread.h"

#include <string.h>

/* How long a thread does nothing before the keeper puts bars (docs/decisions/magazines.md). */
enum { IDLE_MS = TSLAB_SIM ? 0 : 4000 };

/* Puts a bar below the last slot of a class, unless there is one, or too little. */
static bool put_bar(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    struct magazine *const m = &heap->front.magazine[class];
    void **const places = magazine_places(m);
    const size_t slots = (size_t)(owned_acquire(&m->top) - places);
    invariant(lock_is_held(&heap->gate->lock) && hc->bar == 0);
    if (hc->taken_below != 0 || slots < 2) {
        return false;
    }
    hc->bar = (uint32_t)slots - 1;
    hc->barred = owned_swap(&places[hc->bar], NULL);
    return true;
}

/* The holder may have gone below the bar before it saw it, and may have put another slot there, which stays. */
static void remove_bar(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    void *expected = NULL;
    invariant(hc->bar == 0 || hc->barred != NULL);
    if (hc->bar != 0) {
        (void)owned_cas(&magazine_places(&heap->front.magazine[class])[hc->bar], &expected, hc->barred);
        hc->bar = 0;
    }
}

/* Takes the slots at and below the bar of a class. */
static void take_below(struct heap *heap, unsigned class)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    struct magazine *const m = &heap->front.magazine[class];
    void **const places = magazine_places(m);
    const unsigned bar = hc->bar;
    if (bar == 0) {
        return;
    }
    invariant(owned_load(&places[bar]) == NULL); /* nothing was handed out since */
    if (owned_acquire(&m->top) <= places + bar) {
        remove_bar(heap, class);
        return;
    }
    invariant(hc->taken_below == 0 && bar < m->limit);
    hc->bar = 0;
    hc->taken_below = bar;
    heap_change_budget(heap, class, m->limit, m->limit - bar);
    owned_set(&hc->fresh, UINT64_MAX); /* before the limit: see heap_is_fresh */
    owned_store(&m->limit, m->limit - bar);
    counter_add(&hc->slots_removed, bar);
    heap_flush_slots(heap, class, &hc->barred, 1);
    if (bar > 1) {
        heap_flush_slots(heap, class, places + 1, bar - 1);
    }
}

void idle_unbar(struct heap *heap)
{
    invariant(lock_is_held(&heap->gate->lock));
    heap->barred_ms = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_uses(heap, c)) {
            remove_bar(heap, c);
        }
    }
}

/* Of the holder: the slots above a bar that was the lower end move down to the end of their tray. */
void gate_unbar(struct gate *gate)
{
    struct heap *const heap = &((struct thread *)((char *)gate - offsetof(struct thread, gate)))->heap;
    invariant(gate->is_inside && heap->gate == gate);
    gate->is_barred = false;
    idle_unbar(heap);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *const hc = heap_class_of(heap, c);
        const struct magazine *const m = &heap->front.magazine[c];
        const unsigned slots = magazine_slots(m), below = hc->taken_below;
        void **const places = magazine_places(m);
        if (heap_uses(heap, c) && below != 0) {
            invariant(places[0] == NULL && places[-(ptrdiff_t)below] == NULL);
            hc->taken_below = 0;
            memmove(places - below + 1, places + 1, slots * sizeof *places);
            heap_set_magazine(heap, c, places - below, m->limit + below, slots);
        }
    }
}

/* The slots that a heap has handed out. */
static uint64_t all_handed_out(const struct heap *heap)
{
    uint64_t sum = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        sum += heap_uses(heap, c) ? heap_handed_out(heap, c) : 0;
    }
    return sum;
}

static void take_barred(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_uses(heap, c)) {
            take_below(heap, c);
        }
    }
    heap->barred_ms = 0;
    heap->is_spare = true;
}

static void bar_all(struct heap *heap, uint64_t now_ms)
{
    bool any = false;
    invariant(heap->barred_ms == 0 && !heap->is_spare);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        any |= heap_uses(heap, c) && put_bar(heap, c);
    }
    heap->barred_ms = any ? now_ms : 0;
    heap->gate->is_barred |= any;
    heap->is_spare = !any;
}

/* The holder did nothing since the last look. */
static void look_at_idle(struct heap *heap, uint64_t now_ms)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_uses(heap, c)) {
            heap_flush_kept(heap, c);
            heap_detach_slab(heap, c);
        }
    }
    /* A look's time is far more than the buffers of a processor need until all others see a store. */
    const bool is_seen = TSLAB_SIM || now_ms - heap->barred_ms >= LOOK_MS;
    if (heap->barred_ms != 0 && is_seen) {
        take_barred(heap);
    } else if (heap->barred_ms == 0 && !heap->is_spare && now_ms >= heap->busy_ms + IDLE_MS) {
        bar_all(heap, now_ms);
    }
}

bool idle_look(struct heap *heap)
{
    const uint64_t handed_out = all_handed_out(heap), now_ms = max_size(os_now_ms(), 1);
    const bool does_nothing = heap->operations == heap->operations_seen && handed_out == heap->handed_out_seen;
    const bool has_ended = load_plain(&heap->resting_since_ms) != 0;
    invariant(heap->epoch == &epoch_process && lock_is_held(&heap->gate->lock));
    heap->operations_seen = heap->operations;
    heap->handed_out_seen = handed_out;
    hot_runs_flush_idle(&heap->hot);
    if (!does_nothing || has_ended || option_get(OPTION_MAGAZINES) == 0) {
        idle_unbar(heap);
        heap->busy_ms = now_ms;
        heap->is_spare = has_ended;
    }
    if (does_nothing && option_get(OPTION_MAGAZINES) != 0) {
        look_at_idle(heap, now_ms);
        heap_set_idle(heap, heap->limit_bytes != 0 && !has_ended);
    }
    return hot_runs_units(&heap->hot) != 0;
}
