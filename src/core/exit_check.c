/* The chains of the thread's magazines are followed slot by slot; the seals of live objects are compared one by one. */
#include "core/exit_check.h"

#include "core/checked.h"
#include "core/current.h"
#include "core/guard.h"
#include "core/misuse.h"
#include "core/room.h"
#include "core/verify.h"

/* At the end of the program it cannot be told whether a slot was freed wrongly, or the program wrote to a free one. */
static const char late_double[] = "found at exit: a double free, or a write into free memory, at";
static const char late_interior[] = "found at exit: a free of an interior pointer, or a write into free memory, at";

/* Looks whether a chain that is too long has come back to one of its first slots. */
static void find_again(void *chain, unsigned slots)
{
    void *p = chain;
    for (unsigned n = 0; n < slots; n++, p = *slot_link(p)) {
        void *other = *slot_link(p);
        for (unsigned k = n + 1; k < slots; k++, other = *slot_link(other)) {
            if (other == p) {
                misuse(late_double, p);
            }
        }
    }
}

/* A write to a free slot may have led the chain anywhere. It is followed only as long as it leads to slots. */
static void check_chain(unsigned class, void *chain, unsigned slots)
{
    void *p = chain;
    unsigned n = 0;
    for (; p != NULL && n < slots; n++, p = *slot_link(p)) {
        const size_t unit = arena_unit(p);
        if (!arena_has_unit(unit) || tag_class(load_plain(&arena.units[unit].tag)) != class) {
            return;
        }
        if (!slot_starts(p, class)) {
            misuse(late_interior, p);
        }
        const struct slot slot = slot_of(p, class);
        if ((load_relaxed(&slot.slab->bitmap[slot.word]) & slot.mask) != 0) {
            misuse(late_double, p);
        }
    }
    if (p != NULL) {
        find_again(chain, n);
    }
}

static void check_heap(const struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        check_chain(c, magazine_head(&heap->front.magazine[c]),
                    heap_magazine_slots(heap, c) +
                        1); /* a signal may have cut the thread before it counted the last push */
    }
}

/* uncounted: only the checked libraries call it */
static void check_seals_in(size_t unit)
{
    enum { UNIT_WORDS = UNIT_BYTES / GRANULE_BYTES / 64 };
    for (size_t word = 0; word < UNIT_WORDS; word++) {
        char *const start = arena_address((uint32_t)unit) + word * 64 * GRANULE_BYTES;
        for (uint64_t live = checked_live_from(start); live != 0; live &= live - 1) {
            room_check_seal(start + (size_t)bit_lowest(live) * GRANULE_BYTES);
        }
    }
}

/* Checks the seals of all objects that live, if there is no other thread: another thread might be allocating one now.
 */
/* uncounted: only the checked libraries call it */
static void check_seals(void)
{
    for (size_t unit = 0; arena_has_unit(unit) && counter_get(&registry.live_count) == 1; unit++) {
        if (load_plain(&arena.units[unit].tag) != TAG_NONE) {
            check_seals_in(unit);
        }
    }
}

void exit_check(void)
{
    struct thread *const thread = front_current->thread;
    if (thread == NULL) {
        return;
    }
    if (GUARDED) {
        check_seals();
    } else if (lock_try(&thread->gate.lock)) { /* fails if a signal has interrupted a slow operation of the thread */
        check_heap(&thread->heap);
        lock_release(&thread->gate.lock);
    }
    if (VERIFIES) {
        verify_if_alone(thread);
    }
}
