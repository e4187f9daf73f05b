/* The end of each slow operation, whatever it was for: a step of the work that keeps the process small. Each thread
 * that comes by does one, so that memory that nobody wants does not wait for operations of a certain kind.
 *
 * Threads: the holder of the heap. */
#ifndef TSLAB_THREAD_UPKEEP_H
#define TSLAB_THREAD_UPKEEP_H

#include "os/os.h"
#include "space/reclaim.h"
#include "thread/exchange.h"
#include "thread/heap.h"

/* Gives back a step of what may not wait any longer: of dirty runs, of trays, of free pages inside of slabs. Every 250
 * ms it also looks for what was not used. In the gate, which upkeep_and_unlock leaves. */
void upkeep(struct heap *heap);
void upkeep_and_unlock(struct heap *heap);

/* Whether there is something to give back, or time for a look, at the free of a hot run. These go round, so the clock
 * is read once in HOT_RUNS. */
static inline bool upkeep_is_due(const struct heap *heap)
{
    invariant(!heap->gate->is_inside);
    if (likely(heap->hot.next != 0)) {
        return exchange_has_surplus() || reclaim_has_too_much();
    }
    const uint64_t now_ms = os_now_ms();
    return now_ms - heap->looked_ms >= LOOK_MS || reclaim_has_old(now_ms);
}

#endif
