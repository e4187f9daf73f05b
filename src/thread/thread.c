/* The registry is two lists under one lock, live records and idle ones, and a few places between. A record is made once
 * and then reused. */
#include "thread/thread.h"

#include "common/metadata.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/reclaim.h"
#include "thread/resting.h"

struct registry registry = { .lock = LOCK_INIT(RANK_REGISTRY), .last_lock = LOCK_INIT(RANK_LAST) };

static void record_start(struct thread *thread)
{
    thread->gate.lock.rank = RANK_GATE;
    heap_start(&thread->heap, thread, &thread->gate, &epoch_process, heap_next_affinity());
    for (unsigned i = 0; i < REMEMBERED_HOLDS; i++) {
        thread->remembered[i] = &hold_none;
    }
}

/* Under the registry's lock. */
static void record_list(struct thread *thread)
{
    thread->made_before = load_plain(&registry.made);
    store_release(&registry.made, thread);
}

static void live_link(struct thread *thread)
{
    thread->prev = NULL;
    thread->next = registry.live;
    if (registry.live != NULL) {
        registry.live->prev = thread;
    }
    registry.live = thread;
}

noinline void thread_start_scope_front(struct thread *thread)
{
    front_start(&thread->scope_front);
    thread->scope_front.thread = thread;
    thread->scope_front.heap = &heap_none;
}

static void live_unlink(struct thread *thread)
{
    invariant((thread->prev == NULL ? registry.live : thread->prev->next) == thread);
    invariant(counter_get(&heap_live_count) != 0);
    *(thread->prev == NULL ? &registry.live : &thread->prev->next) = thread->next;
    if (thread->next != NULL) {
        thread->next->prev = thread->prev;
    }
    counter_sub(&heap_live_count, 1);
}

/* A record that rests, is idle, or is made in memory that is mapped. NULL: there is none. Under the registry's lock. */
static struct thread *record_take(bool begins)
{
    struct heap *const rested = begins ? resting_take() : NULL;
    struct thread *thread = rested != NULL ? rested->front.thread : registry.idle;
    if (rested == NULL && thread != NULL) {
        registry.idle = thread->next;
    } else if (thread == NULL && (thread = metadata_take(sizeof *thread)) != NULL) {
        record_start(thread);
        record_list(thread);
        counter_add(&registry.record_count, 1);
    }
    return thread;
}

struct thread *thread_open(bool begins)
{
    struct thread *thread;
    do {
        lock_acquire(&registry.lock);
        thread = record_take(begins);
        if (thread != NULL) {
            invariant(thread->scope == NULL && thread->left[0].hold == NULL && thread->warm == NULL &&
                      thread->work.epoch == 0);
            live_link(thread);
            counter_add(&heap_live_count, 1);
        }
        lock_release(&registry.lock);
    } while (thread == NULL && metadata_ahead(sizeof *thread));
    return thread;
}

void thread_number(struct thread *thread)
{
    struct class_sums all = { 0 };
    invariant(thread->heap.front.thread == thread);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_uses(&thread->heap, c)) {
            heap_add(&thread->heap, c, &all);
        }
    }
    counter_set(&thread->before.allocations, all.allocations);
    counter_set(&thread->before.frees, all.frees);
    counter_set(&thread->before.misses, class_sums_misses(&all));
    counter_set(&thread->before.refills, all.refills);
    counter_set(&thread->before.flushes, all.flushes);
    store_plain(&thread->number, os_thread_id());
    invariant(thread != registry.last && load_plain(&thread->number) != 0);
}

bool thread_reserve_last(void)
{
    if (registry.last == NULL) {
        owned_store(&registry.last, (struct thread *)metadata_alloc(sizeof *registry.last));
    }
    return registry.last != NULL;
}

struct thread *thread_open_last(void)
{
    struct thread *const last = registry.last;
    invariant(last != NULL);
    lock_acquire(&registry.last_lock);
    if (last->heap.front.thread == NULL) {
        record_start(last);
        lock_acquire(&registry.lock);
        record_list(last);
        live_link(last);
        lock_release(&registry.lock);
    }
    return last;
}

bool thread_pass_warm(struct thread *thread)
{
    enum { PASSED = WARM_EPOCHS - 1 };
    invariant(thread->gate.is_inside && thread->warm_count == WARM_EPOCHS);
    struct epoch *const kept = thread->warm, *const passed = kept->next_idle;
    if (!os_has_threads() || !epoch_pass_warm(passed, PASSED)) {
        return false;
    }
    invariant(kept != NULL && passed != NULL);
    kept->next_idle = NULL;
    thread->warm_count -= PASSED;
    return true;
}

void thread_fetch_warm(struct thread *thread)
{
    invariant(thread->gate.is_inside && thread->warm == NULL && thread->warm_count == 0);
    thread->warm = epoch_take_warm(WARM_EPOCHS - 1, &thread->warm_count);
}

void thread_keep_warm(struct thread *thread, struct epoch *epoch)
{
    invariant(thread_has_room_for_warm(thread));
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FREE);
    epoch->next_idle = thread->warm;
    thread->warm = epoch;
    thread->warm_count++;
}

struct epoch *thread_take_warm(struct thread *thread)
{
    struct epoch *epoch = thread->warm;
    if (epoch != NULL) {
        invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FREE);
        thread->warm = epoch->next_idle;
        thread->warm_count--;
    }
    return epoch;
}

void thread_flush_warm(struct thread *thread)
{
    epoch_flush_warm(thread->warm);
    thread->warm = NULL;
    thread->warm_count = 0;
}

/* Gives back what a record has, but its heap where that may rest and there is room. */
static void empty_record(struct thread *thread, bool may_rest)
{
    gate_lock(&thread->gate);
    thread_flush_warm(thread);
    if (!may_rest || !resting_begin(&thread->heap)) {
        heap_empty(&thread->heap);
        store_release(&thread->heap.resting_since_ms, 0);
    }
    reclaim_tick();
    gate_unlock(&thread->gate);
    invariant(thread->warm == NULL && thread->warm_count == 0);
}

/* Ends the record's life, if its heap is empty or finds a place where it rests. Under the registry's lock. */
static bool becomes_idle(struct thread *thread)
{
    struct heap *emptied = &thread->heap;
    if (load_plain(&thread->heap.resting_since_ms) != 0 && !resting_place(&thread->heap, &emptied)) {
        return false;
    }
    live_unlink(thread);
    if (emptied != NULL) {
        invariant(lock_is_held(&registry.lock) && emptied->front.thread != registry.last);
        emptied->front.thread->next = registry.idle;
        registry.idle = emptied->front.thread;
    }
    return true;
}

static void close_record(struct thread *thread, bool may_rest)
{
    bool is_closed = false;
    invariant(thread->scope == NULL && thread->left[0].hold == NULL && thread->line.objects == 0 &&
              thread->work.epoch == 0);
    invariant(!may_rest || thread != registry.last);
    store_plain(&thread->number, 0);
    thread->is_sampling = false; /* a fork may have cut the thread while it took a sample */
    for (; !is_closed; may_rest = false) {
        empty_record(thread, may_rest);
        if (thread == registry.last) {
            lock_release(&registry.last_lock);
            return;
        }
        lock_acquire(&registry.lock);
        is_closed = becomes_idle(thread);
        lock_release(&registry.lock);
    }
}

void thread_flush_others(const struct thread *self)
{
    invariant(self->gate.is_inside);
    for (struct thread *other = load_acquire(&registry.made); other != NULL; other = other->made_before) {
        if (other != self && lock_try(&other->gate.lock)) {
            hot_runs_flush(&other->heap.hot);
            lock_release(&other->gate.lock);
        }
    }
}

void thread_close(struct thread *thread)
{
    close_record(thread, false);
}

void thread_leave(struct thread *thread)
{
    close_record(thread, true);
}
