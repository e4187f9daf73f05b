/* A doubly linked list under a lock, and the sums of the heaps that have left it. */
#include "core/heaps.h"

#include "os/fatal.h"

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    struct heap *first;
    uint64_t delisted; /* the number of heaps that have left the list so far */
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
        heaps.delisted++;
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
    sums->from_stock += more->from_stock;
    sums->from_exchange += more->from_exchange;
    sums->exchanged += more->exchanged;
    sums->bypassed_allocs += more->bypassed_allocs;
    sums->bypassed_frees += more->bypassed_frees;
    sums->remote_frees += more->remote_frees;
    sums->opened += more->opened;
    sums->attached += more->attached;
    sums->cached += more->cached;
}

/* Lets other threads have the lock for a moment. True: no heap has left the list meanwhile, so a walk may go on. */
static bool lock_yield_heaps(void)
{
    const uint64_t delisted = heaps.delisted;
    lock_release(&heaps.lock);
    lock_acquire(&heaps.lock);
    return heaps.delisted == delisted;
}

/* A few heaps at a time. Where heaps leave the list again and again, the walk keeps the lock in the end. */
void heaps_add(unsigned class, struct class_sums *sums)
{
    enum { AT_ONCE = 32, RESTARTS = 3 };
    unsigned added = 0, restarts = 0;
    lock_acquire(&heaps.lock);
    struct class_sums found = heaps_gone[class];
    for (const struct heap *heap = heaps.first; heap != NULL;) {
        invariant(heap->enlisted);
        heap_add(heap, class, &found);
        heap = heap->next;
        if (++added % AT_ONCE == 0 && restarts < RESTARTS && !lock_yield_heaps()) {
            found = heaps_gone[class];
            heap = heaps.first;
            restarts++;
        }
    }
    lock_release(&heaps.lock);
    class_sums_add(sums, &found);
}
