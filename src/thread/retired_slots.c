/* Trays of the pool, which the heap keeps in a list for each class. */
#include "thread/retired_slots.h"

#include "os/fatal.h"
#include "thread/flush.h"

bool heap_retire(struct heap *heap, unsigned class, void *p)
{
    invariant(slot_starts(p, class));
    gate_lock(heap->gate);
    heap_use(heap, class);
    struct heap_class *hc = heap_part(heap, class);
    if (hc->retired == NULL || hc->retired->count == hc->retired->length) {
        struct tray *const tray = tray_take(TRAY_MOST);
        if (tray != NULL) {
            tray->next = hc->retired;
            hc->retired = tray;
        }
    }
    counter_add(&hc->counters.remote_frees, 1); /* the slot was counted as allocated, but no user has it */
    const bool kept = hc->retired != NULL && hc->retired->count < hc->retired->length;
    if (kept) {
        tray_places(hc->retired)[++hc->retired->count] = p;
        counter_add(&hc->retired_slots, 1);
    } else {
        flush_slots(class, &p, 1);
    }
    gate_unlock(heap->gate);
    return kept;
}

void heap_unretire(struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct heap_class *hc = heap_part(heap, c);
        if (!heap_uses(heap, c)) {
            continue;
        }
        while (hc->retired != NULL) {
            struct tray *const tray = hc->retired;
            hc->retired = tray->next;
            flush_slots(c, tray_places(tray) + 1, tray->count);
            counter_sub(&hc->retired_slots, tray->count);
            tray_put(tray);
        }
        invariant(counter_get(&hc->retired_slots) == 0);
    }
}
