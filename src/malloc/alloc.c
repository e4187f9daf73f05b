/* A resize stays in place if the object's slot, chunk or run allows it. Else it allocates in the same epoch, copies,
 * and frees. */
#include "malloc/alloc.h"

#include "common/guard.h"
#include "common/trace.h"
#include "epoch/epoch_alloc.h"
#include "epoch/hold.h"
#include "malloc/fast.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/large.h"
#include "space/limit.h"
#include "space/live_bits.h"
#include "thread/sampling.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

void alloc_clear(void *p, size_t size)
{
    if (size > MIDDLE_MAX && !GUARDED && arena_tag(p) == TAG_LARGE) {
        large_clear(p, size);
    } else {
        memset(p, 0, size);
    }
}

void *alloc_zero(size_t size)
{
    bool zero;
    void *p;
    if (size <= SMALL_MAX) {
        const unsigned class = class_of_size(size);
        p = fast_alloc(size);
        /* It may be a slot that was just handed out for the first time since its pages came from the system. */
        const struct front *const front = front_current;
        zero = arena_tag(p) == front->magazine[class].tag && heap_is_fresh(front->heap, class);
    } else {
        p = object_begin(object_alloc_ambient(guard_room(size), 1, CLASS_NONE, &zero), size);
    }
    if (p != NULL && !zero) {
        alloc_clear(p, size);
    }
    return p;
}

void *alloc_aligned(size_t size, size_t alignment)
{
    invariant(is_power_of_two(alignment));
    if (alignment <= GRANULE_BYTES) {
        return fast_alloc(size);
    }
    bool zero;
    const size_t room = guard_room(size);
    return object_begin(object_alloc_ambient(room, alignment, class_of_aligned(room, alignment), &zero), size);
}

/* Whether an object in a slot of the class stays there: its new size fits, and wastes no more than half, or no other
 * class has less. */
always_inline bool fits_slot(unsigned class, size_t size)
{
    const size_t slot = class_geometry[class].size;
    return size <= slot && (size >= slot / 2 || class_of_size(size) == class);
}

/* The usual resize: p is a slot that the thread's magazine accepts, so it lies where plain malloc lands, and its new
 * size is that of a slot, too. False: it is not so. *resized: as alloc_resized returns. */
always_inline bool resize_slot(void *p, size_t size, void **resized)
{
    if (TSLAB_CHECKED || size > SMALL_MAX || !arena_has_unit(arena_unit(p))) {
        return false;
    }
    const uint32_t tag = load_plain(&arena.units[arena_unit(p)].tag);
    if (tag != front_magazine(front_current, tag_class_scaled(tag))->tag) {
        return false;
    }
    const unsigned class = tag_class(tag);
    const size_t slot = class_geometry[class].size;
    (void)slot_of(p, class);
    *resized = p;
    if (!fits_slot(class, size)) {
        void *const moved = fast_alloc(size);
        if (moved != NULL) {
            memcpy(moved, p, min_size(slot, size));
            fast_free(p);
        }
        *resized = moved != NULL || size > slot ? moved : p; /* to shrink in place is always possible */
    }
    return true;
}

/* Resizes the object at p, of `usable` bytes, where it is. False: it cannot stay there. */
static bool resize_in_place(struct thread *thread, void *p, size_t usable, size_t size)
{
    const unsigned class = tag_class(arena_tag(p));
    if (class != CLASS_NONE) {
        return fits_slot(class, size);
    }
    if (arena_tag(p) == TAG_CHUNK) {
        return thread->scope != NULL && chunk_is_own(&thread->scope->real->cursor, p)
                   ? chunk_resize(&thread->scope->real->cursor, p, size)
                   : size <= usable && size >= usable / 2;
    }
    if (size <= MIDDLE_MAX) {
        return false; /* it is to be a slot */
    }
    if (!GUARDED && size <= usable && usable - size < os_page_bytes()) {
        return true; /* it has the same pages */
    }
    gate_lock(&thread->gate);
    const uint32_t epoch = large_epoch(p);
    /* An object that grows in a closed epoch leaves it. */
    const bool stays = epoch == 0 || size <= usable || epoch_is_open(epoch_by_id(epoch));
    const bool resized = stays && (epoch == 0 ? large_resize(p, size) : epoch_resize_run(epoch_by_id(epoch), p, size));
    gate_unlock(&thread->gate);
    if (resized && size > usable && samples_are_on()) {
        sampling_large(thread, p, usable);
    }
    return resized;
}

static void *alloc_in_epoch(struct thread *thread, const struct epoch *epoch, size_t room, int *status)
{
    bool zero;
    if (epoch != &epoch_process) {
        return epoch_alloc_in(thread, epoch_value(epoch), room, 1, &zero, status);
    }
    return room <= SMALL_MAX ? object_alloc_slot(thread, class_of_size(room))
                             : object_alloc_large(thread, room, 1, &zero);
}

/* Allocates in the epoch of the object at p while that is open, else where plain malloc lands. */
static void *alloc_beside(struct thread *thread, const void *p, size_t size)
{
    const struct epoch *epoch = object_epoch(p);
    const struct hold *hold = ambient_hold(thread);
    invariant(epoch != NULL && (hold == NULL || load_plain(&hold->holder) == thread));
    if (epoch == (hold == NULL ? &epoch_process : hold->epoch) || (epoch != &epoch_process && !epoch_is_open(epoch))) {
        return fast_alloc(size);
    }
    int status = TSLAB_OK;
    const size_t room = guard_room(size);
    void *moved = alloc_in_epoch(thread, epoch, room, &status);
    if (unlikely(moved == NULL) && status != TSLAB_CLOSED && object_make_room(thread)) {
        moved = alloc_in_epoch(thread, epoch, room, &status);
    }
    if (moved == NULL && status == TSLAB_CLOSED) {
        return fast_alloc(size);
    }
    if (unlikely(moved == NULL)) {
        limit_no_memory(size);
    }
    return object_begin(moved, size);
}

/* Moves the pages of a large block of the process to a longer one. NULL: its contents must be copied. */
static void *move_pages(struct thread *thread, void *p, size_t size)
{
    if (GUARDED || size <= SMALL_MAX || arena_tag(p) != TAG_LARGE) {
        return NULL;
    }
    /* Another thread may have its place as soon as it has left. */
    live_bits_dies(p);
    gate_lock(&thread->gate);
    void *const moved = large_epoch(p) == 0 ? large_move(p, size) : NULL;
    gate_unlock(&thread->gate);
    if (samples_are_on()) {
        sampling_large(thread, moved, 0);
    }
    (void)live_bits_born(moved != NULL ? moved : p);
    return moved;
}

static noinline void *resize_any(void *given, size_t size)
{
    struct object_memory room;
    void *const p = GUARDED ? zero_size_object(given) : given;
    const size_t usable = object_memory_usable(p, &room);
    invariant(p != NULL && size != 0 && usable <= room.bytes);
    struct thread *thread = size > PTRDIFF_MAX ? NULL : current_thread_get();
    if (thread == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    void *moved = p;
    const size_t kept = min_size(usable, size);
    if (GUARDED && room.zero_when_free) {
        guard_clear(p, kept, room.bytes); /* part of the room may become free memory, which is zero */
    }
    const bool in_place = p == given && resize_in_place(thread, p, room.bytes, guard_room(size));
    if (GUARDED) {
        guard_seal(p, object_memory_at(p).bytes, in_place ? size : kept);
    }
    if (!in_place && (moved = move_pages(thread, p, size)) == NULL) {
        moved = alloc_beside(thread, p, size);
        if (moved != NULL) {
            limit_forget_refusal();
            memcpy(moved, p, kept);
            fast_free(p);
        } else if (size <= usable) {
            moved = p; /* to shrink in place is always possible */
        }
    }
    current_thread_put(thread);
    trace_after_slow();
    if (moved == NULL) {
        errno = ENOMEM;
    } else if (GUARDED) {
        (void)zero_size_end(given);
    }
    return moved;
}

void *alloc_resized(void *p, size_t size)
{
    void *resized;
    return likely(resize_slot(p, size, &resized)) ? resized : resize_any(p, size);
}
