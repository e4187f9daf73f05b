/* The fast path: allocating and freeing without a call, a lock or an atomic operation. This file is all of it.
 *
 * An allocation pops the magazine of its class. A free reads the tag of the unit that the pointer lies in; the tag
 * names the magazine, and equals the magazine's own exactly when the slot may go there, whoever allocated it: the slot
 * is then adopted. While plain malloc lands in an epoch's chunk, the magazines are empty and accept nothing: then
 * objects come from the chunk, and go back to it. Everything else is object_alloc_slow and object_free_slow. Neither
 * looks at whether anything is initialised: the heap of a thread that has none yet has empty magazines, too, and a hold
 * without a chunk, as every heap has that fills none.
 *
 * tests/golden counts the instructions. */
#ifndef TSLAB_CORE_FAST_H
#define TSLAB_CORE_FAST_H

#include "core/current.h"
#include "core/epoch.h"
#include "core/guard.h"
#include "core/object.h"

/* The cursor that plain malloc fills, where the magazine does not serve. The heap is read anew: a compiler that kept it
 * from before would spend an instruction on that where the magazine does serve. */
always_inline struct cursor *fast_cursor(void)
{
    __asm__("" ::: "memory");
    return &front_current->filling->cursor;
}

/* `slow` is called last, so that the caller needs no frame: it serves what the magazine cannot, and says errno. */
always_inline void *fast_alloc_or(size_t size, void *(*slow)(size_t))
{
    if (TSLAB_CHECKED) {
        return object_begin(slow(guard_room(size)), size);
    }
    if (likely(size <= SMALL_MAX)) {
        struct magazine *m = front_magazine(front_current, class_scaled_of_size(size));
        void *head = magazine_head(m);
        if (likely(head != NULL)) {
            return magazine_pop(m, head);
        }
        void *p = chunk_alloc_small(fast_cursor(), size);
        if (p != NULL) {
            return p;
        }
    }
    return slow(size);
}

always_inline void *fast_alloc(size_t size)
{
    return fast_alloc_or(size, object_alloc_slow);
}

always_inline void fast_free(void *p)
{
    if (TSLAB_CHECKED) {
        object_end(p);
        object_free_slow(p);
        return;
    }
    const size_t unit = arena_unit(p);
    if (likely(arena_has_unit(unit))) {
        const uint32_t tag = load_plain(&arena.units[unit].tag);
        struct magazine *m = front_magazine(front_current, (size_t)tag_class(tag) << CLASS_SCALE);
        void *head = magazine_head(m);
        /* The slot freed last, freed again, goes to the slow path, which says so. */
        if (likely(tag == m->tag && magazine_room(m) != 0 && p != head)) {
            magazine_push(m, head, p);
            return;
        }
        if (chunk_free_small(fast_cursor(), p)) {
            return;
        }
    }
    object_free_slow(p);
}

/* The same where the caller says the size (SIZE_MAX: it does not) and the alignment, which only the checked libraries
 * look at. */
always_inline void fast_free_sized(void *p, size_t size, size_t alignment)
{
    if (GUARDED) {
        object_check_size(p, size, alignment);
    }
    fast_free(p);
}

#endif
