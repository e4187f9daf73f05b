/* The fast path: allocating and freeing without a call, a lock or an atomic operation. It consists of this file and of
 * the inline functions that it calls.
 *
 * An allocation pops the magazine of its class. A free reads the tag of the unit that the pointer lies in. The tag
 * names the magazine, and equals the magazine's own tag exactly when the slot may go there, whichever thread allocated
 * it: the heap then adopts the slot. While plain malloc lands in an epoch's chunk, the magazines are empty and accept
 * nothing. Then objects come from the chunk and go back to it. Everything else is object_alloc_slow and
 * object_free_slow. Nothing here tests whether anything is initialised: the front of a thread without a heap has empty
 * magazines, too, and a hold without a chunk, like every front that fills none.
 *
 * tests/golden counts the instructions. Threads: any. */
#ifndef TSLAB_MALLOC_FAST_H
#define TSLAB_MALLOC_FAST_H

#include "common/guard.h"
#include "epoch/hold.h"
#include "malloc/current_thread.h"
#include "malloc/object.h"
#include "slab/epoch_record.h"

/* The cursor that plain malloc fills when the magazine does not serve. front_current is read again: a compiler that
 * kept it would spend an instruction on that also where the magazine does serve. */
always_inline struct cursor *fast_cursor(void)
{
    __asm__("" ::: "memory");
    return &front_current->filling->cursor;
}

/* `slow` serves what the magazine and the chunk cannot, and sets errno. It is called last, so that the caller needs no
 * frame. */
always_inline void *fast_alloc_or(size_t size, void *(*slow)(size_t))
{
    if (TSLAB_CHECKED) {
        void *const p = object_begin(slow(guard_room(size)), size);
        return GUARDED && size == 0 ? zero_size_hide(p) : p;
    }
    if (likely(size <= SMALL_MAX)) {
        struct magazine *m = front_magazine(front_current, class_scaled_of_size(size));
        void *p = magazine_pop(m);
        if (likely(p != NULL)) {
            return p;
        }
        p = chunk_alloc_small(fast_cursor(), size);
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
        p = GUARDED ? zero_size_end(p) : p;
        object_end(p);
        object_free_slow(p);
        return;
    }
    const size_t unit = arena_unit(p);
    if (likely(arena_has_unit(unit))) {
        const uint32_t tag = load_plain(&arena.units[unit].tag);
        /* In a sampled unit, m lies half a magazine further, and has there the end of the next one, or a pointer of the
         * front: an even number, which does not equal the tag. */
        struct magazine *m = front_magazine(front_current, tag_class_scaled(tag));
        /* If the slot freed last is freed again, the slow path reports it. */
        if (likely(tag == m->tag && !magazine_is_full(m) && !magazine_has_last(m, p))) {
            magazine_push(m, p);
            return;
        }
        if (likely(chunk_free_small(fast_cursor(), p))) {
            return;
        }
        if (tag == TAG_CHUNK && hold_free(front_current->filling, p)) {
            return;
        }
    }
    object_free_slow(p);
}

/* The same with the size (SIZE_MAX: not given) and the alignment from the caller. Only the checked libraries look at
 * them. */
always_inline void fast_free_sized(void *p, size_t size, size_t alignment)
{
    if (GUARDED) {
        object_check_size(p, size, alignment);
    }
    fast_free(p);
}

#endif
