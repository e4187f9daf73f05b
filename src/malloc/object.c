/* Allocation tries the place where plain malloc lands, then the process. A free decides by the tag of p's unit whether
 * p is in a chunk, in a slab or a large block, and one function for each frees it. The tag also tells the room there:
 * of a slot by the class, in a chunk by the code. */
#include "malloc/object.h"

#include "common/guard.h"
#include "common/misuse.h"
#include "common/option.h"
#include "common/trace.h"
#include "epoch/ending.h"
#include "epoch/epoch_alloc.h"
#include "epoch/hold.h"
#include "epoch/scope.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/chunk.h"
#include "slab/holes.h"
#include "slab/large.h"
#include "space/limit.h"
#include "space/live_bits.h"
#include "space/reclaim.h"
#include "thread/cache_budget.h"
#include "thread/exchange.h"
#include "thread/overflow.h"
#include "thread/refill.h"
#include "thread/resting.h"
#include "thread/sampling.h"
#include "thread/upkeep.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *or_enomem(void *p)
{
    if (unlikely(p == NULL)) {
        errno = ENOMEM;
    }
    return p;
}

void *object_alloc_slot(struct thread *thread, unsigned class)
{
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    return sampling_alloc_slot(&thread->heap, class);
}

void *object_alloc_large(struct thread *thread, size_t size, size_t alignment, bool *zero)
{
    invariant(is_power_of_two(alignment));
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) {
        return NULL;
    }
    void *p = large_alloc_hot(&thread->heap.hot, size, alignment);
    if (p != NULL) {
        *zero = false;
    } else {
        gate_lock(&thread->gate);
        p = large_alloc(0, max_size(size, 1), alignment, zero);
        upkeep_and_unlock(&thread->heap); /* before the program writes to it: what waits makes room */
    }
    if (samples_are_on()) {
        sampling_large(thread, p, 0);
    }
    return p;
}

/* Gives back what the thread and the process cache, and the large runs that other threads keep. In the gate. */
static void give_back_caches(struct thread *thread)
{
    heap_empty(&thread->heap);
    thread_flush_others(thread);
    exchange_tick(true);
    (void)resting_look(UINT64_MAX);
    scope_drop_left(thread);
    for (const struct hold *scope = thread->scope; scope != NULL; scope = scope->outer) {
        hold_close_full(scope->real);
    }
    thread_flush_warm(thread);
    epoch_flush_shared_warm();
}

/* Gives back the free pages inside of slabs and chunks, which takes time in proportion to the heap: again only when
 * slots of the process went back since, or after SWEEP_MS. */
static void sweep_at_limit(void)
{
    static atomic_u64 swept_ms;
    static atomic_size_t swept_out;
    enum { SWEEP_MS = 100 };
    const size_t out = depot_out_bytes();
    const uint64_t now_ms = os_now_ms();
    if (out < load_relaxed(&swept_out) || now_ms - load_relaxed(&swept_ms) >= SWEEP_MS) {
        (void)holes_purge_all();
        store_relaxed(&swept_ms, now_ms);
    }
    store_relaxed(&swept_out, out);
}

bool object_make_room(struct thread *thread)
{
    if (!limit_take_hard_refusal()) {
        return false;
    }
    gate_lock(&thread->gate);
    give_back_caches(thread);
    sweep_at_limit();
    ending_unlock_gate(thread);
    return true;
}

static void *alloc_ambient(struct thread *thread, struct hold *hold, size_t size, size_t alignment, unsigned class,
                           bool *zero)
{
    if (unlikely(hold != NULL)) {
        void *const p = epoch_alloc(thread, hold, size, alignment, zero);
        /* A closed epoch allocates no more. Until the thread leaves it, plain malloc lands in the process. */
        if (p != NULL || epoch_is_open(hold->epoch)) {
            return p;
        }
    }
    if (class == CLASS_NONE) {
        return object_alloc_large(thread, size, alignment, zero);
    }
    *zero = false;
    return object_alloc_slot(thread, class);
}

noinline void *object_alloc_ambient(size_t size, size_t alignment, unsigned class, bool *zero)
{
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return or_enomem(NULL);
    }
    struct hold *hold = ambient_hold(thread);
    void *p = alloc_ambient(thread, hold, size, alignment, class, zero);
    if (unlikely(p == NULL) && object_make_room(thread)) {
        p = alloc_ambient(thread, hold, size, alignment, class, zero);
    }
    laws_at_moment(MOMENT_SLOW_END, thread, 0);
    current_thread_put(thread);
    if (unlikely(p == NULL)) {
        limit_no_memory(size - SEAL_BYTES);
    }
    limit_tell_if_due();
    trace_after_slow();
    return or_enomem(p);
}

#ifdef __GLIBC__
extern int _IO_file_doallocate(FILE *) __attribute__((weak));
#else
#define _IO_file_doallocate NULL
#endif

/* Whether libc asks for the buffer of a stream in a file or a pipe, which it will keep. In an epoch that would drain
 * for ever, or be a dangling pointer. (A terminal's buffer is shorter, and the fast path's.) */
static bool is_for_stream(size_t size, const void *caller)
{
    enum { CODE_BYTES = 512 }; /* it is 351 long in glibc 2.36 */
    return (size == 4096 || size == BUFSIZ) && (uintptr_t)caller - (uintptr_t)_IO_file_doallocate < CODE_BYTES;
}

/* Malloc jumps here, so that its caller is the caller. */
noinline void *object_alloc_slow(size_t size)
{
    bool zero;
    if (unlikely(is_for_stream(size, __builtin_return_address(0))) && front_current->innermost != &hold_none) {
        struct thread *const thread = front_current->thread;
        scope_pause(thread);
        void *const buffer = object_alloc_ambient(size, 1, class_of_size(size), &zero);
        (void)scope_resume(thread);
        return buffer;
    }
    if (size > SMALL_MAX) {
        return object_alloc_ambient(size, 1, CLASS_NONE, &zero);
    }
    if (size <= CHUNK_OBJECT_MOST) {
        void *const large = chunk_alloc(&front_current->filling->cursor, size);
        if (large != NULL) {
            return large;
        }
    }
    const unsigned class = class_of_size(size);
    const bool bypasses = option_get(OPTION_MAGAZINES) == 0 && !samples_are_on();
    void *p = bypasses ? refill_alloc_claimed(front_current->heap, class) : NULL;
    return p != NULL ? p : object_alloc_ambient(size, 1, class, &zero);
}

/* Freeing: object_free_slow decides once where p is, and each answer has a function. */

/* The heap whose magazine accepts slots with this tag: that of the process, or that of the epoch in which plain malloc
 * lands. NULL: neither does. */
static struct heap *heap_accepting(struct thread *thread, uint32_t tag)
{
    const unsigned class = tag_class(tag);
    if (tag == thread->heap.front.magazine[class].tag) {
        return &thread->heap;
    }
    return tag == front_current->magazine[class].tag ? front_current->heap : NULL;
}

/* Frees a slot into the magazine that accepts it, or straight to its slab if none does. */
static void free_slot(struct thread *thread, uint32_t tag, void *p)
{
    const unsigned class = tag_class(tag);
    struct heap *const heap = heap_accepting(thread, tag);
    if (heap == NULL && !GUARDED && overflow_may_wait(tag)) {
        overflow_free_remote(&thread->heap, class, p);
        return;
    }
    if (GUARDED || heap == NULL) {
        heap_use(&thread->heap, class);
        struct class_counters *const counters = &heap_class_of(&thread->heap, class)->counters;
        counter_add(heap != NULL ? &counters->bypassed_frees : &counters->remote_frees, 1);
        overflow_free_direct(&thread->heap, class, p);
        return;
    }
    struct magazine *const m = &heap->front.magazine[class];
    invariant(m->tag == tag && heap->gate == &thread->gate);
    if (magazine_has_last(m, p)) {
        misuse("double free of", p);
    } else if (magazine_is_full(m)) {
        const int saved = errno;
        overflow_free(heap, class, p);
        errno = saved;
    } else {
        (void)slot_of(p, class); /* the look costs little here */
        magazine_push(m, p);
    }
}

/* Frees an object of a chunk: of the hold where plain malloc lands, of the innermost scope, or of any other. */
static void free_in_chunk(struct thread *thread, void *p)
{
    if (!hold_free(front_current->filling, p) && (thread->scope == NULL || !hold_free(thread->scope->real, p))) {
        epoch_free_chunk(thread, p);
    }
}

/* Frees a large block of the process. Ends the program when there is none at p. */
static void free_large_of_process(struct thread *thread, void *p)
{
    const uint32_t most = cache_budget_hot(load_relaxed(&heap_live_count));
    if (large_free_hot(&thread->heap.hot, p, most)) {
        /* It may be the last thing that the program frees before it rests. */
        if (unlikely(upkeep_is_due(&thread->heap))) {
            gate_lock(&thread->gate);
            upkeep_and_unlock(&thread->heap);
        }
        return;
    }
    gate_lock(&thread->gate);
    if (!large_free(&thread->heap.hot, p, most)) {
        gate_unlock(&thread->gate);
        misuse_no_object(p);
    }
    upkeep_and_unlock(&thread->heap);
}

/* Frees a large block, of an epoch or of the process. */
static void free_large(struct thread *thread, void *p)
{
    const int saved = errno;
    if (samples_are_on()) {
        sampling_end(&thread->gate, p);
    }
    const uint32_t epoch = large_epoch(p);
    if (epoch != 0) {
        epoch_free_run(thread, epoch_existing(epoch), p);
    } else {
        free_large_of_process(thread, p);
    }
    laws_at_moment(MOMENT_SLOW_END, thread, 0);
    errno = saved;
}

/* Whether p lies in a unit of a slab where sampled objects live. */
static bool is_in_sampled_unit(const void *p)
{
    const size_t unit = arena_unit(p);
    return arena_has_unit(unit) && unit_is_sampled(unit);
}

/* Decides where p is. */
static void free_with(struct thread *thread, void *p)
{
    const uint32_t tag = arena_tag(p);
    if (unlikely(is_in_sampled_unit(p))) {
        sampling_end(&thread->gate, p);
    }
    if (tag == TAG_CHUNK) {
        free_in_chunk(thread, p);
    } else if (tag_class(tag) != CLASS_NONE) {
        free_slot(thread, tag, p);
    } else {
        free_large(thread, p);
    }
}

/* Frees for a thread without a record: it joins now, or borrows a record. */
static noinline void free_without_record(void *p)
{
    const int saved = errno;
    struct thread *const thread = current_thread_get_surely();
    /* NULL: nothing was ever allocated, so p is an object of another malloc, and stays what it is. */
    if (thread != NULL) {
        free_with(thread, p);
        current_thread_put(thread);
    }
    errno = saved;
}

noinline void object_free_slow(void *p)
{
    struct thread *const thread = front_current->thread;
    if (p == NULL) {
        return;
    }
    if (likely(thread != NULL)) {
        free_with(thread, p);
    } else {
        free_without_record(p);
    }
}

void *object_begin_checked(void *p, size_t size)
{
    (void)live_bits_born(p);
    if (GUARDED && p != NULL) {
        const struct object_memory room = object_memory_at(p);
        if (room.zero_when_free) {
            guard_check_free(p, room.bytes);
        }
        guard_seal(p, room.bytes, size);
    }
    return p;
}

void object_end(void *p)
{
    live_bits_dies(p);
    if (!GUARDED || p == NULL) {
        return;
    }
    const struct object_memory room = object_memory_at(p);
    if (room.bytes != 0) {
        (void)guard_sealed(p, room.bytes);
    }
    if (room.zero_when_free) {
        guard_bury(p, room.bytes);
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
    p = zero_size_object(p);
    live_bits_check(p);
    const struct object_memory room = object_memory_at(p);
    /* The free itself reports a pointer that is no object's. */
    if (size != SIZE_MAX && room.bytes != 0) {
        const size_t asked = guard_sealed(p, room.bytes);
        if (asked != size) {
            misuse_size(p, size, asked);
        }
    }
}

size_t object_usable(const void *p)
{
    struct object_memory room;
    return object_memory_usable(GUARDED ? zero_size_object(p) : p, &room);
}

struct epoch *object_epoch(const void *p)
{
    p = GUARDED ? zero_size_object(p) : p;
    const uint32_t tag = arena_tag(p);
    invariant(tag != TAG_NEVER);
    if (tag == TAG_CHUNK || tag_class(tag) != CLASS_NONE) {
        return epoch_existing(word_epoch(load_plain(&arena.runs[arena.units[arena_unit(p)].first].word)));
    }
    return epoch_existing(large_epoch(p));
}

size_t object_trim(void)
{
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return 0;
    }
    gate_lock(&thread->gate);
    give_back_caches(thread);
    size_t records = 0;
    while (epoch_purge_idle(&records)) {
    }
    records += tray_purge();
    const size_t bytes = records + holes_purge_all() + reclaim_all();
    laws_at_moment(MOMENT_TRIMMED, thread, 0);
    ending_unlock_gate(thread);
    laws_at_moment(MOMENT_ALONE, thread, 0);
    current_thread_put(thread);
    return bytes;
}

static size_t large_room(const void *p)
{
    struct thread *thread = current_thread_get_surely();
    if (thread == NULL) {
        return 0;
    }
    gate_lock(&thread->gate);
    const size_t room = large_usable(p);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return room;
}

struct object_memory object_memory_at(const void *p)
{
    const uint32_t tag = arena_tag(p);
    const unsigned class = tag_class(tag);
    if (class != CLASS_NONE) {
        (void)slot_of(p, class);
        return (struct object_memory){ class_geometry[class].size, true };
    }
    if (tag == TAG_CHUNK) {
        return (struct object_memory){ chunk_usable(p), true };
    }
    return (struct object_memory){ large_room(p), false };
}

size_t object_memory_usable(const void *p, struct object_memory *room)
{
    live_bits_check(p);
    *room = object_memory_at(p);
    if (room->bytes == 0) {
        misuse_no_object(p);
    }
    invariant(room->bytes > SEAL_BYTES);
    return GUARDED ? guard_sealed(p, room->bytes) : room->bytes;
}
