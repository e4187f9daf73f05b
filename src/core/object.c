#include "core/object.h"

#include "core/checked.h"
#include "core/fast.h"
#include "core/holes.h"
#include "core/large.h"
#include "core/misuse.h"
#include "core/reclaim.h"
#include "core/scope.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* The class of the slot that p lies in; CLASS_NONE when p is not in a slab. */
static unsigned class_at(const void *p)
{
    const size_t unit = arena_unit(p);
    return arena_has_unit(unit) ? tag_class(load_plain(&arena.units[unit].tag)) : CLASS_NONE;
}

static uint32_t tag_at(const void *p)
{
    const size_t unit = arena_unit(p);
    return arena_has_unit(unit) ? load_plain(&arena.units[unit].tag) : TAG_NONE;
}

static void *or_enomem(void *p)
{
    if (unlikely(p == NULL)) {
        errno = ENOMEM;
    }
    return p;
}

/* From the heap of the process, or, past its end, of a borrowed record. */
static void *process_alloc(struct thread *thread, unsigned class)
{
    struct magazine *m = &thread->heap.magazine[class];
    void *head = magazine_head(m);
    return head != NULL ? magazine_pop(m, head) : heap_alloc_slow(&thread->heap, class);
}

static void *process_alloc_big(struct thread *thread, size_t size, size_t alignment, bool *zero)
{
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) {
        return NULL;
    }
    void *p = alignment <= UNIT_BYTES ? large_alloc_hot(&thread->heap.hot, size) : NULL;
    if (p == NULL) {
        gate_lock(thread);
        p = large_alloc(max_size(size, 1), alignment, zero);
        gate_unlock(thread);
    }
    return p;
}

/* The hold in which the thread's plain malloc lands; NULL: the process. */
static struct hold *ambient_hold(const struct thread *thread)
{
    return thread->scope == NULL || thread->paused != 0 ? NULL : thread->scope->ambient;
}

/* Where plain malloc lands. `class` is that of the size and alignment, or CLASS_NONE for a large block. */
static noinline void *ambient_alloc(size_t size, size_t alignment, unsigned class, bool *zero)
{
    struct thread *thread = current_get();
    if (thread == NULL) {
        return or_enomem(NULL);
    }
    *zero = false;
    struct hold *hold = ambient_hold(thread);
    void *p = NULL;
    if (unlikely(hold != NULL)) {
        p = scope_alloc(thread, hold, size, alignment, zero);
    }
    /* A closed epoch has no room for more: what is allocated before it is left is of the process. */
    if (likely(hold == NULL) || (p == NULL && !epoch_is_open(hold->epoch))) {
        p = class != CLASS_NONE ? process_alloc(thread, class) : process_alloc_big(thread, size, alignment, zero);
    }
    current_put(thread);
    return or_enomem(p);
}

noinline void *object_alloc_slow(size_t size)
{
    bool zero;
    if (size > SMALL_MAX) {
        return ambient_alloc(size, 1, CLASS_NONE, &zero);
    }
    const unsigned class = class_of_size(size);
    void *p = heap_alloc_claimed(heap_current, class);
    return p != NULL ? p : ambient_alloc(size, 1, class, &zero);
}

void *object_alloc_zero(size_t size)
{
    bool zero = false;
    void *p = size <= SMALL_MAX ? fast_alloc(size)
                                : object_begin(ambient_alloc(guard_room(size), 1, CLASS_NONE, &zero), size);
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
    const size_t room = guard_room(size);
    return object_begin(ambient_alloc(room, alignment, class_of_aligned(room, alignment), &zero), size);
}

static _Noreturn noinline void freed_without_handle(const void *p)
{
    misuse("free, without its handle, of", p);
}

/* A slot, by a thread whose fast path did not take it: it may still be one for the heap of the process. */
static void small_free(struct thread *thread, uint32_t tag, void *p)
{
    const unsigned class = tag_class(tag);
    struct heap *heap = &thread->heap;
    struct magazine *m = &heap->magazine[class];
    void *head = magazine_head(m);
    if (unlikely(tag_has_handles(tag))) {
        freed_without_handle(p);
    }
    if (tag != m->tag) {
        /* The full magazine of an epoch's heap, or a slot that is not ours to keep. */
        heap = heap_current;
        m = &heap->magazine[class];
        if (tag != m->tag) {
            counter_add(&thread->heap.class[class].counters.remote_frees, 1);
            heap_free_direct(&thread->heap, class, p);
            return;
        }
        head = magazine_head(m);
    }
    if (head == p) {
        misuse("double free of", p);
    } else if (magazine_room(m) != 0) {
        (void)slot_of(p, class); /* on the way, it costs little to look */
        magazine_push(m, head, p);
    } else {
        heap_free_full(heap, class, p);
    }
}

static void big_free(struct thread *thread, void *p)
{
    const uint32_t epoch = large_epoch(p);
    if (epoch != 0) {
        scope_free_run(thread, epoch_existing(epoch), p);
        return;
    }
    if (large_free_hot(&thread->heap.hot, p)) {
        /* It may be the last thing that the program frees before it rests. */
        if (unlikely(reclaim_is_over_budget())) {
            gate_lock(thread);
            reclaim_tick();
            gate_unlock(thread);
        }
        return;
    }
    gate_lock(thread);
    const bool freed = large_free(&thread->heap.hot, p);
    if (freed) {
        reclaim_tick();
    }
    gate_unlock(thread);
    if (!freed) {
        misuse_no_object(p);
    }
}

/* All that needs a record, which may have to be made or borrowed. */
static noinline void free_with_record(uint32_t tag, void *p)
{
    const int saved = errno;
    struct thread *thread = current_get_surely();
    if (thread == NULL) {
        errno = saved;
        return; /* nothing was ever allocated: it is the object of another malloc, and stays what it is */
    }
    if (tag == TAG_CHUNK) {
        scope_free_chunk(thread, p);
    } else if (tag_class(tag) != CLASS_NONE) {
        small_free(thread, tag, p);
    } else {
        big_free(thread, p);
    }
    current_put(thread);
    errno = saved;
}

static noinline void free_past_chunk(void *p)
{
    if (p == NULL) {
        return;
    }
    struct thread *const thread = heap_current->thread;
    const uint32_t tag = tag_at(p);
    if (likely(thread != NULL)) {
        if (tag == TAG_CHUNK) {
            if (thread->scope != NULL && chunk_is_own(&thread->scope->real->cursor, p)) {
                chunk_free_own(&thread->scope->real->cursor, p);
            } else {
                scope_free_chunk(thread, p);
            }
            return;
        }
        const unsigned class = tag_class(tag);
        const bool ours = tag == heap_current->magazine[class].tag || tag == thread->heap.magazine[class].tag;
        if (class != CLASS_NONE && (GUARDED || !ours) && !tag_has_handles(tag)) {
            /* Home to another heap, or there are no magazines: straight to its slab. */
            struct class_counters *counters = &thread->heap.class[class].counters;
            counter_add(ours ? &counters->bypassed_frees : &counters->remote_frees, 1);
            heap_free_direct(&thread->heap, class, p);
            return;
        }
    }
    free_with_record(tag, p);
}

noinline void object_free_slow(void *p)
{
    struct cursor *const cursor = &heap_current->filling->cursor;
    if (chunk_is_own(cursor, p)) {
        chunk_free_own(cursor, p);
        return;
    }
    free_past_chunk(p);
}

/* What the engine made available at an address. */
struct place {
    size_t room;       /* bytes; 0: nothing lives there */
    bool sealed;       /* in the checked library; objects with handles are not */
    bool in_free_zero; /* in the checked library: memory that is zero while it is free */
};

static size_t large_room(const void *p)
{
    struct thread *thread = current_get_surely();
    if (thread == NULL) {
        return 0;
    }
    gate_lock(thread);
    const size_t room = large_usable(p);
    gate_unlock(thread);
    current_put(thread);
    return room;
}

static struct place place_at(const void *p)
{
    const uint32_t tag = tag_at(p);
    const unsigned class = tag_class(tag);
    if (class != CLASS_NONE) {
        (void)slot_of(p, class);
        return (struct place){ class_geometry[class].size, !tag_has_handles(tag), true };
    }
    if (tag == TAG_CHUNK) {
        return (struct place){ chunk_usable(p), true, true };
    }
    return (struct place){ large_room(p), true, false };
}

void *object_begin_checked(void *p, size_t size)
{
    (void)checked_born(p);
    if (GUARDED && p != NULL) {
        const struct place place = place_at(p);
        if (place.in_free_zero) {
            guard_check_free(p, place.room);
        }
        if (place.sealed) {
            guard_seal(p, place.room, size);
        }
    }
    return p;
}

void object_end(void *p)
{
    checked_dies(p);
    if (!GUARDED || p == NULL) {
        return;
    }
    const struct place place = place_at(p);
    if (place.sealed && place.room != 0) {
        (void)guard_sealed(p, place.room);
    }
    if (place.in_free_zero) {
        memset(p, 0, place.room);
    }
}

/* uncounted: only the checked libraries call it */
void object_check_size(const void *p, size_t size, size_t alignment)
{
    if (!GUARDED || p == NULL) {
        return;
    }
    if (!is_power_of_two(alignment) || (uintptr_t)p % alignment != 0) {
        misuse_alignment(p, alignment);
    }
    checked_lives(p);
    const struct place place = place_at(p);
    /* What is no object's, or has a handle, the free tells. */
    if (size != SIZE_MAX && place.sealed && place.room != 0) {
        const size_t asked = guard_sealed(p, place.room);
        if (asked != size) {
            misuse_size(p, size, asked);
        }
    }
}

/* The bytes of an object's user, and its place. */
static size_t usable_of(const void *p, struct place *place)
{
    checked_lives(p);
    *place = place_at(p);
    if (place->room == 0) {
        misuse_no_object(p);
    }
    return GUARDED && place->sealed ? guard_sealed(p, place->room) : place->room;
}

size_t object_usable(const void *p)
{
    struct place place;
    return usable_of(p, &place);
}

/* Whether the object at p, of `usable` bytes, can stay where it is with a new size. */
static bool resize_in_place(struct thread *thread, void *p, size_t usable, size_t size)
{
    if (class_at(p) != CLASS_NONE) {
        /* A smaller size stays while it wastes no more than half. */
        return size <= usable && (size >= usable / 2 || class_of_size(size) == class_at(p));
    }
    if (tag_at(p) == TAG_CHUNK) {
        return thread->scope != NULL && chunk_is_own(&thread->scope->real->cursor, p)
                   ? chunk_resize(&thread->scope->real->cursor, p, size)
                   : size <= usable && size >= usable / 2;
    }
    if (size <= SMALL_MAX) {
        return false;
    }
    gate_lock(thread);
    const uint32_t epoch = large_epoch(p);
    const bool resized = epoch == 0 ? large_resize(p, size) : scope_resize_run(epoch_by_id(epoch), p, size);
    gate_unlock(thread);
    return resized;
}

/* Allocates where the object at p belongs: in its epoch while that is open, else where plain malloc lands. */
static void *alloc_beside(struct thread *thread, const void *p, size_t size)
{
    const struct epoch *epoch = object_epoch(p);
    const struct hold *hold = ambient_hold(thread);
    if (epoch == (hold == NULL ? &epoch_process : hold->epoch)) {
        return fast_alloc(size);
    }
    bool zero = false;
    if (epoch == &epoch_process) {
        const size_t room = guard_room(size);
        return object_begin(room <= SMALL_MAX ? process_alloc(thread, class_of_size(room))
                                              : process_alloc_big(thread, room, 1, &zero),
                            size);
    }
    if (!epoch_is_open(epoch)) {
        return fast_alloc(size);
    }
    int status;
    void *moved = object_begin(scope_alloc_in(thread, epoch_value(epoch), guard_room(size), 1, &zero, &status), size);
    return moved == NULL && status == TSLAB_CLOSED ? fast_alloc(size) : moved;
}

struct epoch *object_epoch(const void *p)
{
    const uint32_t tag = tag_at(p);
    if (tag == TAG_CHUNK || tag_class(tag) != CLASS_NONE) {
        return epoch_existing(word_epoch(load_plain(&arena.runs[arena.units[arena_unit(p)].first].word)));
    }
    return epoch_existing(large_epoch(p));
}

void *object_resize(void *p, size_t size)
{
    struct place place;
    const size_t usable = usable_of(p, &place);
    struct thread *thread = size > PTRDIFF_MAX ? NULL : current_get();
    if (thread == NULL) {
        return or_enomem(NULL);
    }
    void *moved = p;
    const size_t kept = min_size(usable, size);
    if (GUARDED && place.in_free_zero) {
        memset((char *)p + kept, 0, place.room - kept); /* some of it may become free */
    }
    const bool in_place = resize_in_place(thread, p, place.room, guard_room(size));
    if (GUARDED && place.sealed) {
        guard_seal(p, place_at(p).room, in_place ? size : kept);
    }
    if (!in_place) {
        moved = alloc_beside(thread, p, size);
        if (moved != NULL) {
            memcpy(moved, p, kept);
            fast_free(p);
        } else if (size <= usable) {
            moved = p; /* to shrink in place always works */
        }
    }
    current_put(thread);
    return or_enomem(moved);
}

/* uncounted: only the checked libraries call it */
static void verify_seals_in(size_t unit)
{
    enum { UNIT_WORDS = UNIT_BYTES / GRANULE_BYTES / 64 };
    for (size_t word = 0; word < UNIT_WORDS; word++) {
        char *const start = arena_address((uint32_t)unit) + word * 64 * GRANULE_BYTES;
        for (uint64_t live = checked_live_from(start); live != 0; live &= live - 1) {
            const char *const p = start + (size_t)bit_lowest(live) * GRANULE_BYTES;
            const struct place place = place_at(p);
            if (place.sealed && place.room != 0) {
                (void)guard_sealed(p, place.room);
            }
        }
    }
}

/* The seals of all objects that live. Another thread might be just giving birth to one: so only where there is none. */
/* uncounted: only the checked libraries call it */
static void verify_seals(void)
{
    for (size_t unit = 0; arena_has_unit(unit) && counter_get(&registry.live_count) == 1; unit++) {
        if (load_plain(&arena.units[unit].tag) != TAG_NONE) {
            verify_seals_in(unit);
        }
    }
}

void object_verify(void)
{
    struct thread *const thread = heap_current->thread;
    if (thread == NULL) {
        return;
    }
    if (GUARDED) {
        verify_seals();
    } else if (lock_try(&thread->gate)) { /* else a signal has cut the thread in a slow operation */
        heap_verify(&thread->heap);
        gate_unlock(thread);
    }
}

size_t object_trim(void)
{
    struct thread *thread = current_get();
    if (thread == NULL) {
        return 0;
    }
    gate_lock(thread);
    heap_empty(&thread->heap);
    scope_flush(thread);
    const size_t bytes = holes_purge_all(&epoch_process) + reclaim_all();
    gate_unlock(thread);
    current_put(thread);
    return bytes;
}
