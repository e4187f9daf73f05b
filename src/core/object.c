#include "core/object.h"

#include "core/ambient.h"
#include "core/checked.h"
#include "core/current.h"
#include "core/epoch_alloc.h"
#include "core/guard.h"
#include "core/holes.h"
#include "core/large.h"
#include "core/misuse.h"
#include "core/reclaim.h"
#include "core/room.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static void *or_enomem(void *p)
{
    if (unlikely(p == NULL)) {
        errno = ENOMEM;
    }
    return p;
}

/* From the heap of the process, or, past its end, of a borrowed record. */
void *object_alloc_slot(struct thread *thread, unsigned class)
{
    struct magazine *m = &thread->heap.front.magazine[class];
    void *head = magazine_head(m);
    return head != NULL ? magazine_pop(m, head) : heap_alloc_slow(&thread->heap, class);
}

void *object_alloc_large(struct thread *thread, size_t size, size_t alignment, bool *zero)
{
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) {
        return NULL;
    }
    void *p = alignment <= UNIT_BYTES ? large_alloc_hot(&thread->heap.hot, size) : NULL;
    if (p == NULL) {
        gate_lock(&thread->gate);
        p = large_alloc(max_size(size, 1), alignment, zero);
        gate_unlock(&thread->gate);
    }
    return p;
}

noinline void *object_alloc_ambient(size_t size, size_t alignment, unsigned class, bool *zero)
{
    struct thread *thread = current_get();
    if (thread == NULL) {
        return or_enomem(NULL);
    }
    *zero = false;
    struct hold *hold = ambient_hold(thread);
    void *p = NULL;
    if (unlikely(hold != NULL)) {
        p = epoch_alloc(thread, hold, size, alignment, zero);
    }
    /* A closed epoch has no room for more: what is allocated before it is left is of the process. */
    if (likely(hold == NULL) || (p == NULL && !epoch_is_open(hold->epoch))) {
        p = class != CLASS_NONE ? object_alloc_slot(thread, class) : object_alloc_large(thread, size, alignment, zero);
    }
    current_put(thread);
    return or_enomem(p);
}

noinline void *object_alloc_slow(size_t size)
{
    bool zero;
    if (size > SMALL_MAX) {
        return object_alloc_ambient(size, 1, CLASS_NONE, &zero);
    }
    const unsigned class = class_of_size(size);
    void *p = heap_alloc_claimed(front_current->heap, class);
    return p != NULL ? p : object_alloc_ambient(size, 1, class, &zero);
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
    struct magazine *m = &heap->front.magazine[class];
    void *head = magazine_head(m);
    if (unlikely(tag_has_handles(tag))) {
        freed_without_handle(p);
    }
    if (tag != m->tag) {
        /* The full magazine of an epoch's heap, or a slot that is not ours to keep. */
        heap = front_current->heap;
        m = &heap->front.magazine[class];
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
        epoch_free_run(thread, epoch_existing(epoch), p);
        return;
    }
    if (large_free_hot(&thread->heap.hot, p)) {
        /* It may be the last thing that the program frees before it rests. */
        if (unlikely(reclaim_is_over_budget())) {
            gate_lock(&thread->gate);
            reclaim_tick();
            gate_unlock(&thread->gate);
        }
        return;
    }
    gate_lock(&thread->gate);
    const bool freed = large_free(&thread->heap.hot, p);
    if (freed) {
        reclaim_tick();
    }
    gate_unlock(&thread->gate);
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
        epoch_free_chunk(thread, p);
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
    struct thread *const thread = front_current->thread;
    const uint32_t tag = arena_tag(p);
    if (likely(thread != NULL)) {
        if (tag == TAG_CHUNK) {
            if (thread->scope != NULL && chunk_is_own(&thread->scope->real->cursor, p)) {
                chunk_free_own(&thread->scope->real->cursor, p);
            } else {
                epoch_free_chunk(thread, p);
            }
            return;
        }
        const unsigned class = tag_class(tag);
        const bool ours = tag == front_current->magazine[class].tag || tag == thread->heap.front.magazine[class].tag;
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
    struct cursor *const cursor = &front_current->filling->cursor;
    if (chunk_is_own(cursor, p)) {
        chunk_free_own(cursor, p);
        return;
    }
    free_past_chunk(p);
}

void *object_begin_checked(void *p, size_t size)
{
    (void)checked_born(p);
    if (GUARDED && p != NULL) {
        const struct room room = room_at(p);
        if (room.zero_when_free) {
            guard_check_free(p, room.bytes);
        }
        if (room.sealed) {
            guard_seal(p, room.bytes, size);
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
    const struct room room = room_at(p);
    if (room.sealed && room.bytes != 0) {
        (void)guard_sealed(p, room.bytes);
    }
    if (room.zero_when_free) {
        memset(p, 0, room.bytes);
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
    const struct room room = room_at(p);
    /* What is no object's, or has a handle, the free tells. */
    if (size != SIZE_MAX && room.sealed && room.bytes != 0) {
        const size_t asked = guard_sealed(p, room.bytes);
        if (asked != size) {
            misuse_size(p, size, asked);
        }
    }
}

size_t object_usable(const void *p)
{
    struct room room;
    return room_usable(p, &room);
}

struct epoch *object_epoch(const void *p)
{
    const uint32_t tag = arena_tag(p);
    if (tag == TAG_CHUNK || tag_class(tag) != CLASS_NONE) {
        return epoch_existing(word_epoch(load_plain(&arena.runs[arena.units[arena_unit(p)].first].word)));
    }
    return epoch_existing(large_epoch(p));
}

size_t object_trim(void)
{
    struct thread *thread = current_get();
    if (thread == NULL) {
        return 0;
    }
    gate_lock(&thread->gate);
    heap_empty(&thread->heap);
    thread_flush_warm(thread);
    const size_t bytes = holes_purge_all(&epoch_process) + reclaim_all();
    gate_unlock(&thread->gate);
    current_put(thread);
    return bytes;
}
