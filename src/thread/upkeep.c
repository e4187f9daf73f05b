/* A step at a time, so that no operation takes long. */
#include "thread/upkeep.h"

#include "common/option.h"
#include "os/fatal.h"
#include "slab/holes.h"
#include "space/depot.h"
#include "thread/resting.h"

/* Where a class could not have what it asked of the budget, a heap looks for what is idle so often. */
enum { SHORT_OPERATIONS = 64 };

/* When the process had to take fresh pages, hot runs go back, and the magazines of classes that drain: they keep slabs
 * that would be empty without them. If others waited and did not serve, so do all classes that were not used since this
 * happened last, and the heaps of ended threads. */
static void pay_for_growth(struct heap *heap)
{
    enum { PAID_UNITS = 32 /* half a MiB */ };
    const uint64_t fresh = counter_get(&depot.fresh_units);
    if (likely(fresh - heap->paid_units < PAID_UNITS)) {
        return;
    }
    invariant(heap->gate->is_inside && fresh > heap->paid_units);
    heap->paid_units = fresh;
    hot_runs_flush(&heap->hot);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_uses(heap, c) && exchange_is_draining(c)) {
            heap_flush_magazine(heap, c);
            heap_detach_slab(heap, c);
        }
    }
    if (load_plain(&depot.use.unfit) != 0) {
        heap_empty_unused(heap);
        (void)resting_look(UINT64_MAX);
    }
}

/* Gives back the classes and runs that the heap did not use since the last look, and finds such trays. */
static noinline void look(struct heap *heap, uint64_t now_ms)
{
    invariant(heap->gate->is_inside);
    heap->looked_ms = now_ms;
    heap->is_short = false;
    hot_runs_flush_idle(&heap->hot);
    if (option_get(OPTION_MAGAZINES) != 0) {
        heap_empty_unused(heap);
        (void)exchange_look(now_ms);
        (void)resting_tick(now_ms);
    }
}

void upkeep(struct heap *heap)
{
    invariant(heap->gate->is_inside);
    heap_set_idle(heap, false);
    const bool is_short = ++heap->operations % SHORT_OPERATIONS == 0 && heap->is_short;
    const uint64_t now_ms = os_now_ms();
    if (unlikely(is_short || now_ms - heap->looked_ms >= LOOK_MS)) {
        look(heap, now_ms);
    }
    pay_for_growth(heap);
    (void)exchange_step();
    reclaim_tick();
    holes_tick();
}

void upkeep_and_unlock(struct heap *heap)
{
    upkeep(heap);
    invariant(heap->gate->is_inside);
    gate_unlock(heap->gate);
}
