/* Few places, which are looked through one after the other. */
#include "thread/resting.h"

#include "common/option.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/limit.h"

_Atomic(struct heap *) resting_places[RESTING];

enum { REST_MS = TSLAB_SIM ? 0 : 1000, RESTING_BYTES = 1 << 20 /* that all resting heaps cache together */ };

/* The touched bytes in magazines. */
static size_t cached_bytes(const struct heap *heap)
{
    size_t bytes = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct class_held held = { 0 };
        if (heap_uses(heap, c)) {
            heap_add_held(heap, c, &held);
            bytes += held.magazine * class_geometry[c].size - held.magazine_untouched;
        }
    }
    return bytes;
}

/* Since when the heap rests that has a place. 0: none has it, or it is empty. */
static uint64_t resting_since(const struct heap *heap)
{
    return heap == NULL ? 0 : load_acquire(&heap->resting_since_ms);
}

bool resting_begin(struct heap *heap)
{
    const size_t bytes = cached_bytes(heap);
    size_t all = bytes;
    unsigned resting = 0;
    invariant(heap->gate->is_inside && resting_since(heap) == 0);
    for (unsigned i = 0; i < RESTING; i++) {
        const struct heap *const other = load_acquire(&resting_places[i]);
        if (resting_since(other) != 0) {
            all += load_plain(&other->resting_bytes);
            resting++;
        }
    }
    if (resting == RESTING || all > RESTING_BYTES || option_get(OPTION_MAGAZINES) == 0 || limit_presses()) {
        return false;
    }
    heap_rest(heap);
    store_plain(&heap->resting_bytes, bytes);
    store_release(&heap->resting_since_ms, max_size(os_now_ms(), 1));
    return true;
}

bool resting_place(struct heap *heap, struct heap **emptied)
{
    invariant(!heap->gate->is_inside);
    *emptied = NULL;
    for (unsigned i = 0; i < RESTING; i++) {
        struct heap *const other = load_plain(&resting_places[i]);
        if (resting_since(other) == 0) {
            *emptied = other;
            store_release(&resting_places[i], heap);
            return true;
        }
    }
    return false;
}

struct heap *resting_take(void)
{
    _Atomic(struct heap *) *place = NULL;
    struct heap *last = NULL;
    for (unsigned i = 0; i < RESTING; i++) {
        struct heap *const heap = load_plain(&resting_places[i]);
        const bool is_later = heap != NULL && (last == NULL || resting_since(heap) >= resting_since(last));
        if (is_later && lock_try(&heap->gate->lock)) { /* nobody empties it now */
            if (last != NULL) {
                lock_release(&last->gate->lock);
            }
            last = heap;
            place = &resting_places[i];
        }
    }
    if (last != NULL) {
        invariant(resting_since(last) == 0 || last->epoch == &epoch_process);
        store_release(&last->resting_since_ms, 0);
        store_release(place, NULL);
        lock_release(&last->gate->lock);
    }
    return last;
}

/* Empties a heap in its gate, if it still rests: a thread may have taken it meanwhile, and may have ended, too. */
static void empty_old(struct heap *heap, uint64_t until_ms)
{
    const uint64_t since_ms = resting_since(heap);
    invariant(lock_is_held(&heap->gate->lock));
    if (since_ms != 0 && since_ms <= until_ms) {
        heap_empty(heap);
        store_release(&heap->resting_since_ms, 0);
    }
}

static void try_empty(struct heap *heap, uint64_t until_ms)
{
    const uint64_t since_ms = resting_since(heap);
    if (since_ms != 0 && since_ms <= until_ms && lock_try(&heap->gate->lock)) {
        empty_old(heap, until_ms);
        lock_release(&heap->gate->lock);
    }
}

bool resting_look(uint64_t until_ms)
{
    bool left = false;
    for (unsigned i = 0; i < RESTING; i++) {
        struct heap *const heap = load_acquire(&resting_places[i]);
        try_empty(heap, until_ms);
        left |= resting_since(heap) != 0;
    }
    return left;
}

bool resting_tick(uint64_t now_ms)
{
    return resting_look(now_ms - min_size(now_ms, REST_MS));
}
