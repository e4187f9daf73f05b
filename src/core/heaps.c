/* A doubly linked list under a lock, and the sums of the heaps that have left it. */
#include "core/heaps.h"

#include "os/fatal.h"

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    struct heap *first;
} heaps = { .lock = LOCK_INIT(RANK_HEAPS) };

/* What the heaps counted that have left the list; under the same lock. */
static struct class_sums heaps_gone[CLASS_LIMIT];

void heaps_enlist(struct heap *heap)
{
    lock_acquire(&heaps.lock);
    invariant(!heap->enlisted && heap->epoch != &epoch_process);
    heap->enlisted = true;
    heap->prev = NULL;
    heap->next = heaps.first;
    if (heaps.first != NULL) {
        invariant(heaps.first->enlisted && heaps.first->prev == NULL);
        heaps.first->prev = heap;
    }
    heaps.first = heap;
    lock_release(&heaps.lock);
}

void heaps_delist(struct heap *heap)
{
    lock_acquire(&heaps.lock);
    if (heap->enlisted) {
        invariant((heap->prev == NULL ? heaps.first : heap->prev->next) == heap);
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
    sums->exchanged += more->exchanged;
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
        invariant(heap->enlisted);
        heap_add(heap, class, sums);
    }
    lock_release(&heaps.lock);
}
