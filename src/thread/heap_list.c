/* A doubly linked list under a lock, and the sums of the heaps that have left it. */
#include "thread/heap_list.h"

#include "os/fatal.h"

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    struct heap *first;
    uint64_t delisted; /* the number of heaps that have left the list so far */
} heap_list = { .lock = LOCK_INIT(RANK_HEAPS) };

/* What the heaps counted that have left the list; under the same lock. */
static struct class_sums heap_list_gone[CLASS_LIMIT];

void heap_list_enlist(struct heap *heap)
{
    lock_acquire(&heap_list.lock);
    invariant(!heap->enlisted && heap->epoch != &epoch_process);
    heap->enlisted = true;
    heap->prev = NULL;
    heap->next = heap_list.first;
    if (heap_list.first != NULL) {
        invariant(heap_list.first->enlisted && heap_list.first->prev == NULL);
        heap_list.first->prev = heap;
    }
    heap_list.first = heap;
    lock_release(&heap_list.lock);
}

void heap_list_delist(struct heap *heap)
{
    lock_acquire(&heap_list.lock);
    if (heap->enlisted) {
        invariant((heap->prev == NULL ? heap_list.first : heap->prev->next) == heap);
        heap->enlisted = false;
        heap_list.delisted++;
        *(heap->prev == NULL ? &heap_list.first : &heap->prev->next) = heap->next;
        if (heap->next != NULL) {
            heap->next->prev = heap->prev;
        }
        for (unsigned c = 1; c < CLASS_LIMIT; c++) {
            heap_add(heap, c, &heap_list_gone[c]);
            heap_forget_counts(heap, c);
        }
    }
    lock_release(&heap_list.lock);
}

static void class_sums_add(struct class_sums *sums, const struct class_sums *more)
{
#define SUM_ADD(name, ...) sums->name += more->name;
    CLASS_COUNTS(SUM_ADD)
    sums->cached += more->cached;
    sums->bypassed += more->bypassed;
}

/* Lets other threads have the lock for a moment. True: no heap has left the list meanwhile, so a walk may go on. */
static bool lock_yield_heaps(void)
{
    const uint64_t delisted = heap_list.delisted;
    lock_release(&heap_list.lock);
    lock_acquire(&heap_list.lock);
    return heap_list.delisted == delisted;
}

/* A few heaps at a time. Where heaps leave the list again and again, the walk keeps the lock in the end. */
void heap_list_add(unsigned class, struct class_sums *sums)
{
    enum { AT_ONCE = 32, RESTARTS = 3 };
    unsigned added = 0, restarts = 0;
    lock_acquire(&heap_list.lock);
    struct class_sums found = heap_list_gone[class];
    for (const struct heap *heap = heap_list.first; heap != NULL;) {
        invariant(heap->enlisted);
        heap_add(heap, class, &found);
        heap = heap->next;
        if (++added % AT_ONCE == 0 && restarts < RESTARTS && !lock_yield_heaps()) {
            found = heap_list_gone[class];
            heap = heap_list.first;
            restarts++;
        }
    }
    lock_release(&heap_list.lock);
    class_sums_add(sums, &found);
}
