/* Chunks are filled by a cursor outside of the gate. A new chunk, the move to slabs, and large runs are slow operations
 * in the gate. */
#include "epoch/epoch_alloc.h"

#include "common/trace.h"
#include "epoch/ending.h"
#include "epoch/hold.h"
#include "epoch/scope.h"
#include "os/fatal.h"
#include "slab/large.h"
#include "space/reclaim.h"
#include "thread/refill.h"
#include "thread/sampling.h"
#include "thread/upkeep.h"

#include <errno.h>

/* A hold that has filled this much goes over to slabs if its objects die, and after four times as much in any case. */
enum { SLABS_FROM_BYTES = EPOCH_SLABS_FROM_KIB * 1024, SLABS_MOST_BYTES = 4 * SLABS_FROM_BYTES };
_Static_assert(SLABS_MOST_BYTES / 1024 <= UINT16_MAX, "filled_kib has room");

/* Makes the hold go over to slabs. False: no memory, and the hold stays with chunks. In the gate. */
static bool hold_begin_slabs(struct thread *thread, struct hold *hold)
{
    invariant(thread->gate.is_inside && load_plain(&hold->heap) == NULL && load_plain(&hold->holder) == thread);
    if (!partial_lists_need(hold->epoch)) {
        return false;
    }
    if (hold->affinity == 0) {
        hold->affinity = heap_next_affinity() | AFFINITY_OF_EPOCH;
    }
    struct heap *heap = thread->idle_heaps;
    if (heap != NULL) {
        thread->idle_heaps = heap->next_idle;
        heap->epoch = hold->epoch;
        heap->affinity = hold->affinity;
        heap_retag(heap);
    } else {
        heap = heap_make(hold->epoch, hold->affinity);
    }
    if (heap == NULL) {
        return false;
    }
    heap->front.thread = thread;
    heap->gate = &thread->gate;
    store_release(&hold->heap, heap);
    /* A borrowed record is inside of nothing, and front_current does not point to its heap. */
    if (thread->scope != NULL) {
        ambient_set(thread);
    }
    return true;
}

/* Counts what a hold has filled, up to the limit from which it uses slabs. */
static void hold_count_filled(struct hold *hold, size_t bytes)
{
    const size_t kib = hold->filled_kib + bytes / 1024;
    hold->filled_kib = (uint16_t)min_size(kib, SLABS_MOST_BYTES / 1024);
}

/* Gives the hold a chunk: the one that the thread left empty, or a new one. False: no memory. */
static bool hold_get_chunk(struct thread *thread, struct hold *hold)
{
    struct cursor *const cursor = &hold->cursor;
    invariant(cursor_start(cursor) == NULL);
    if (!epoch_allows(hold->epoch, CHUNK_UNITS)) {
        return false;
    }
    uint32_t first = scope_take_left(thread);
    if (first != 0) {
        chunk_pass(cursor, first, hold->epoch->id);
    } else {
        bool clean;
        first = run_alloc(CHUNK_UNITS, CHUNK_UNITS, &clean);
        if (first == 0) {
            return false;
        }
        chunk_open(cursor, first, hold->epoch->id);
    }
    epoch_add_chunk(hold->epoch);
    return true;
}

/* Replaces the hold's full chunk by another one, or by slabs. False: no memory, or the epoch is closed. In the gate. */
static bool hold_renew_chunk(struct thread *thread, struct hold *hold)
{
    struct cursor *cursor = &hold->cursor;
    invariant(thread->gate.is_inside && load_plain(&hold->heap) == NULL && load_plain(&hold->holder) == thread);
    if (!epoch_is_open_as(hold->epoch, hold->value)) {
        return false;
    }
    if (cursor_start(cursor) != NULL) {
        hold_count_filled(hold, CHUNK_BYTES);
        if (chunk_is_empty(cursor)) {
            chunk_reset(cursor);
            return true;
        }
        if (hold_end_chunk(hold) && (hold->outlives || hold->filled_kib >= SLABS_FROM_BYTES / 1024)) {
            hold_count_filled(hold, SLABS_MOST_BYTES);
        }
    }
    if (hold->filled_kib >= SLABS_MOST_BYTES / 1024 && hold_begin_slabs(thread, hold)) {
        return true;
    }
    return hold_get_chunk(thread, hold);
}

static void *fill_chunk(struct hold *hold, size_t size, size_t alignment)
{
    return alignment <= GRANULE_BYTES ? chunk_alloc(&hold->cursor, size)
                                      : chunk_alloc_aligned(&hold->cursor, size, alignment);
}

static void *alloc_from_chunk(struct thread *thread, struct hold *hold, size_t size, size_t alignment)
{
    void *p = fill_chunk(hold, size, alignment);
    if (p == NULL && chunk_is_cut(&hold->cursor)) {
        const bool is_sampled = chunk_pass_cut(&hold->cursor, size, alignment);
        p = fill_chunk(hold, size, alignment);
        invariant(!is_sampled || p != NULL);
        if (is_sampled) {
            sampling_in_chunk(thread, hold->epoch, p);
        }
    }
    return p;
}

static void *alloc_from_slab(struct hold *hold, size_t size, size_t alignment)
{
    const unsigned class = class_of_aligned(size, alignment);
    invariant(load_plain(&hold->heap)->epoch == hold->epoch);
    if (class == CLASS_NONE) {
        return NULL;
    }
    return sampling_alloc_slot(load_plain(&hold->heap), class);
}

void *epoch_alloc_slot(struct thread *thread, struct hold *hold, size_t size, size_t alignment)
{
    if (load_plain(&hold->heap) == NULL) {
        gate_lock(&thread->gate);
        const bool begun = hold_begin_slabs(thread, hold);
        gate_unlock(&thread->gate);
        if (!begun) {
            return NULL;
        }
    }
    return alloc_from_slab(hold, size, alignment);
}

static void *alloc_run(struct thread *thread, struct hold *hold, size_t size, size_t alignment, bool *zero)
{
    if (!epoch_is_open_as(hold->epoch, hold->value) || size > PTRDIFF_MAX) {
        return NULL;
    }
    const size_t units = (size + UNIT_BYTES - 1) / UNIT_BYTES;
    if (!epoch_allows(hold->epoch, (uint32_t)min_size(units, UINT32_MAX))) {
        return NULL;
    }
    gate_lock(&thread->gate);
    void *p = large_alloc(hold->epoch->id, max_size(size, 1), alignment, zero);
    if (p != NULL) {
        epoch_link_run(hold->epoch, (uint32_t)arena_unit(p));
        hold_count_filled(hold, size);
    }
    gate_unlock(&thread->gate);
    if (samples_are_on()) {
        sampling_large(thread, p, 0);
    }
    return p;
}

noinline void *epoch_alloc(struct thread *thread, struct hold *hold, size_t size, size_t alignment, bool *zero)
{
    invariant(load_plain(&hold->holder) == thread && is_power_of_two(alignment));
    if (load_plain(&hold->heap) != NULL && !epoch_is_open(hold->epoch)) {
        return NULL;
    }
    if (load_plain(&hold->heap) == NULL && size <= CHUNK_OBJECT_MOST && alignment <= CHUNK_ALIGN_MOST) {
        *zero = false;
        void *p = alloc_from_chunk(thread, hold, size, alignment);
        if (p != NULL) {
            return p;
        }
        trace_slow(SLOW_CHUNK, size);
        gate_lock(&thread->gate);
        const bool renewed = hold_renew_chunk(thread, hold);
        ending_unlock_gate(thread);
        if (!renewed) {
            return NULL;
        }
        if (load_plain(&hold->heap) == NULL) {
            return alloc_from_chunk(thread, hold, size, alignment);
        }
    }
    if (load_plain(&hold->heap) != NULL && size <= MIDDLE_MAX && class_of_aligned(size, alignment) != CLASS_NONE) {
        *zero = false;
        return alloc_from_slab(hold, size, alignment);
    }
    return alloc_run(thread, hold, size, alignment, zero);
}

void *epoch_alloc_in(struct thread *thread, uint64_t value, size_t size, size_t alignment, bool *zero, int *status)
{
    struct hold *const inside = scope_inside(thread, value);
    struct hold *hold = inside != NULL ? inside : scope_borrow(thread, value, status);
    if (hold == NULL) {
        return NULL;
    }
    void *p = epoch_alloc(thread, hold, size, alignment, zero);
    /* Another thread may have closed the epoch just now. */
    *status = p != NULL || epoch_is_open_as(hold->epoch, value) ? TSLAB_NO_MEMORY : TSLAB_CLOSED;
    if (inside == NULL) {
        scope_return(thread, hold);
    }
    return p;
}

void epoch_free_chunk(struct thread *thread, void *p)
{
    const uint32_t first = arena.units[arena_unit(p)].first;
    /* A fork may cut the thread between the two writes of chunk_free_other. Its child recounts the noted chunk. */
    gate_note(&thread->gate, first);
    if (chunk_free_other(p)) {
        const int saved = errno;
        gate_lock(&thread->gate);
        epoch_recycle_chunk(epoch_existing(word_epoch(load_plain(&arena.runs[first].word))), first);
        upkeep_and_unlock(&thread->heap);
        errno = saved;
    }
}

void epoch_free_run(struct thread *thread, struct epoch *epoch, void *p)
{
    const uint32_t first = (uint32_t)arena_unit(p);
    invariant(word_epoch(load_plain(&arena.runs[first].word)) == epoch->id && epoch != &epoch_process);
    gate_lock(&thread->gate);
    arena_untag(first, 1);
    epoch_unlink_run(epoch, first);
    large_retire(first, arena.runs[first].units);
    epoch_unpin(epoch);
    upkeep_and_unlock(&thread->heap);
}

bool epoch_resize_run(struct epoch *epoch, void *p, size_t size)
{
    const struct run *const run = &arena.runs[arena_unit(p)];
    const uint32_t before = run->units;
    const size_t units = (size + UNIT_BYTES - 1) / UNIT_BYTES;
    const bool allowed = units <= before || (units <= UINT32_MAX && epoch_may_grow(epoch, (uint32_t)units - before));
    const bool resized = allowed && large_resize(p, size);
    if (run->units != before) {
        lock_acquire(epoch_lock(epoch));
        epoch_count_units(epoch, before, run->units);
        lock_release(epoch_lock(epoch));
    }
    return resized;
}
