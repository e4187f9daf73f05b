/* The slots in the thread's magazines are compared with each other and with the bitmaps. The seals of live objects are
 * compared one by one. */
#include "malloc/exit_check.h"

#include "common/guard.h"
#include "common/misuse.h"
#include "malloc/current_thread.h"
#include "malloc/object.h"
#include "space/live_bits.h"
#include "thread/idle.h"

/* Looks at the slots in a magazine: each starts where a slot starts, is in no bitmap, and is there once. */
static noinline void check_magazine(unsigned class, void *const *places, unsigned slots)
{
    for (unsigned i = 1; i <= slots; i++) {
        if (!slot_starts(places[i], class)) {
            misuse("found at exit: a free of an interior pointer", places[i]);
        }
        const struct slot slot = slot_of(places[i], class);
        bool twice = (load_relaxed(&slot.slab->bitmap[slot.word]) & slot.mask) != 0;
        for (unsigned before = 1; before < i; before++) {
            twice |= places[before] == places[i];
        }
        if (twice) {
            misuse("found at exit: a double free of", places[i]);
        }
    }
}

/* uncounted: only the checked libraries call it */
static void check_seals_in(size_t unit)
{
    enum { UNIT_WORDS = UNIT_BYTES / GRANULE_BYTES / 64 };
    for (size_t word = 0; word < UNIT_WORDS; word++) {
        char *const start = arena_address((uint32_t)unit) + word * 64 * GRANULE_BYTES;
        for (uint64_t live = live_bits_from(start); live != 0; live &= live - 1) {
            (void)object_usable(start + (size_t)bit_lowest(live) * GRANULE_BYTES);
        }
    }
}

/* Checks the seals of all objects that live, if there is no other thread: another thread might be allocating one now.
 */
/* uncounted: only the checked libraries call it */
static void check_seals(void)
{
    for (size_t unit = 0; arena_has_unit(unit) && counter_get(&heap_live_count) == 1; unit++) {
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
        if (thread->gate.is_barred) {
            idle_unbar(&thread->heap);
        }
        for (unsigned c = 1; c < CLASS_LIMIT; c++) {
            const struct magazine *const m = &thread->heap.front.magazine[c];
            check_magazine(c, magazine_places(m), magazine_slots(m));
        }
        lock_release(&thread->gate.lock);
    }
    laws_at_moment(MOMENT_ALONE, thread, 0);
}
