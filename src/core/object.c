#include "core/object.h"

#include "base/fatal.h"
#include "core/blocks.h"
#include "core/fast.h"
#include "core/holes.h"
#include "core/large.h"
#include "core/reclaim.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* The class of the slot that p lies in; CLASS_NONE when p is not in a slab. */
static unsigned class_at(const void *p)
{
    const size_t unit = arena_unit(p);
    return arena_has_unit(unit) ? tag_class(stat_get(&arena.units[unit].tag)) : CLASS_NONE;
}

static void *or_enomem(void *p)
{
    if (unlikely(p == NULL)) {
        errno = ENOMEM;
    }
    return p;
}

static void *small_alloc(unsigned class)
{
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return or_enomem(NULL);
    }
    struct magazine *m = &thread->heap.magazine[class];
    void *head = magazine_head(m);
    void *p = head != NULL ? magazine_pop(m, head) : heap_alloc_slow(&thread->heap, class);
    current_leave(thread);
    return or_enomem(p);
}

static void *big_alloc(size_t size, size_t alignment, bool *zero)
{
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) {
        return or_enomem(NULL);
    }
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return or_enomem(NULL);
    }
    *zero = false;
    void *p = alignment <= UNIT_BYTES ? large_alloc_hot(&thread->heap.hot, size) : NULL;
    if (p == NULL) {
        gate_enter(thread);
        p = large_alloc(max_size(size, 1), alignment, zero);
        gate_leave(thread);
    }
    current_leave(thread);
    return or_enomem(p);
}

noinline void *object_alloc_slow(size_t size)
{
    bool zero;
    if (size > SMALL_MAX) {
        return big_alloc(size, 1, &zero);
    }
    const unsigned class = class_of_size(size);
    void *p = heap_alloc_claimed(heap_current, class);
    return p != NULL ? p : small_alloc(class);
}

void *object_alloc_zero(size_t size)
{
    bool zero = false;
    void *p = size <= SMALL_MAX ? fast_alloc(size) : checked_born(big_alloc(size, 1, &zero));
    if (p != NULL && !zero) {
        memset(p, 0, size);
    }
    return p;
}

void *object_alloc_aligned(size_t size, size_t alignment)
{
    if (alignment <= GRANULE_BYTES) {
        return fast_alloc(size);
    }
    bool zero;
    const unsigned class = class_of_aligned(size, alignment);
    return checked_born(class != CLASS_NONE ? small_alloc(class) : big_alloc(size, alignment, &zero));
}

static _Noreturn void foreign_free(const void *p)
{
    fatal_pointer(arena_has_unit(arena_unit(p)) ? "double or wild free of" : "free of a foreign pointer", p);
}

static void small_free(struct thread *thread, unsigned class, void *p)
{
    struct heap *heap = &thread->heap;
    struct magazine *m = &heap->magazine[class];
    void *head = magazine_head(m);
    if (stat_get(&arena.units[arena_unit(p)].tag) != m->tag) {
        stat_add(&heap->class[class].counters.remote_frees, 1);
        heap_free_direct(heap, class, p);
    } else if (head == p) {
        fatal_pointer("double free of", p);
    } else if (magazine_room(m) != 0) {
        (void)slot_of(p, class); /* on the way, it costs little to look */
        magazine_push(m, head, p);
    } else {
        heap_free_full(heap, class, p);
    }
}

static void big_free(struct thread *thread, void *p)
{
    if (large_free_hot(&thread->heap.hot, p)) {
        /* It may be the last thing that the program frees before it rests. */
        if (unlikely(reclaim_is_over_budget())) {
            gate_enter(thread);
            reclaim_tick();
            gate_leave(thread);
        }
        return;
    }
    gate_enter(thread);
    const bool freed = large_free(&thread->heap.hot, p);
    if (freed) {
        reclaim_tick();
    }
    gate_leave(thread);
    if (!freed) {
        foreign_free(p);
    }
}

/* A slot that no magazine of the thread's heap takes: straight to its slab. False when it is not that, or the thread
 * has no heap. */
static bool free_remote(void *p)
{
    const unsigned class = class_at(p);
    struct heap *heap = heap_current;
    if (class == CLASS_NONE || heap->thread == NULL ||
        stat_get(&arena.units[arena_unit(p)].tag) == heap->magazine[class].tag) {
        return false;
    }
    stat_add(&heap->class[class].counters.remote_frees, 1);
    heap_free_direct(heap, class, p);
    return true;
}

noinline void object_free_slow(void *p)
{
    if (p == NULL || free_remote(p)) {
        return;
    }
    const int saved = errno;
    struct thread *thread = current_enter();
    if (thread == NULL) {
        /* No memory for this thread's record: what is freed is lost, which is better than to stop. */
        return;
    }
    const unsigned class = class_at(p);
    if (class != CLASS_NONE) {
        small_free(thread, class, p);
    } else {
        big_free(thread, p);
    }
    current_leave(thread);
    errno = saved;
}

size_t object_usable(const void *p)
{
    checked_lives(p);
    const unsigned class = class_at(p);
    if (class != CLASS_NONE) {
        (void)slot_of(p, class);
        return class_geometry[class].size;
    }
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return 0;
    }
    gate_enter(thread);
    const size_t usable = large_usable(p);
    gate_leave(thread);
    current_leave(thread);
    if (usable == 0) {
        foreign_free(p);
    }
    return usable;
}

/* Whether the object at p, of `usable` bytes, can stay where it is with a new size. */
static bool resize_in_place(void *p, size_t usable, size_t size)
{
    if (class_at(p) != CLASS_NONE) {
        /* A smaller size stays while it wastes no more than half. */
        return size <= usable && (size >= usable / 2 || class_of_size(size) == class_at(p));
    }
    if (size <= SMALL_MAX) {
        return false;
    }
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return false;
    }
    gate_enter(thread);
    const bool resized = large_resize(p, size);
    gate_leave(thread);
    current_leave(thread);
    return resized;
}

void *object_resize(void *p, size_t size)
{
    const size_t usable = object_usable(p);
    if (size > PTRDIFF_MAX) {
        return or_enomem(NULL);
    }
    if (resize_in_place(p, usable, size)) {
        return p;
    }
    void *moved = fast_alloc(size);
    if (moved == NULL) {
        /* To shrink in place always works. */
        return size <= usable ? p : NULL;
    }
    memcpy(moved, p, min_size(usable, size));
    fast_free(p);
    return moved;
}

size_t object_trim(void)
{
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return 0;
    }
    gate_enter(thread);
    heap_empty(&thread->heap);
    const size_t bytes = holes_purge_all(&epoch_process) + reclaim_all();
    gate_leave(thread);
    current_leave(thread);
    return bytes;
}
