/* The registry is two lists under one lock, live records and idle ones. A record is made once and then reused. */
#include "thread/thread.h"

#include "common/metadata.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/reclaim.h"

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

/* Moves a live record, whose heap is empty, to the idle ones. Under the registry's lock. */
static void live_to_idle(struct thread *thread)
{
    invariant((thread->prev == NULL ? registry.live : thread->prev->next) == thread);
    invariant(counter_get(&heap_live_count) != 0);
    *(thread->prev == NULL ? &registry.live : &thread->prev->next) = thread->next;
    if (thread->next != NULL) {
        thread->next->prev = thread->prev;
    }
    thread->next = registry.idle;
    registry.idle = thread;
    counter_set(&heap_live_count, counter_get(&heap_live_count) - 1);
}

struct thread *thread_open(void)
{
    lock_acquire(&registry.lock);
    struct thread *thread = registry.idle;
    if (thread != NULL) {
        registry.idle = thread->next;
    } else {
        thread = metadata_alloc(sizeof *thread);
        if (thread != NULL) {
            record_start(thread);
            record_list(thread);
            counter_add(&registry.record_count, 1);
        }
    }
    if (thread != NULL) {
        invariant(thread->scope == NULL && thread->warm == NULL && thread->work.epoch == 0);
        live_link(thread);
        counter_add(&heap_live_count, 1);
    }
    lock_release(&registry.lock);
    return thread;
}

void thread_number(struct thread *thread)
{
    struct class_sums all = { 0 };
    invariant(thread->heap.front.thread == thread);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        heap_add(&thread->heap, c, &all);
    }
    counter_set(&thread->before.allocations, all.allocations);
    counter_set(&thread->before.frees, all.frees);
    counter_set(&thread->before.misses, class_sums_misses(&all));
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

void thread_close(struct thread *thread)
{
    invariant(thread->scope == NULL && thread->line == NULL && thread->work.epoch == 0);
    store_plain(&thread->number, 0);
    thread->is_sampling = false; /* a fork may have cut the thread while it took a sample */
    gate_lock(&thread->gate);
    thread_flush_warm(thread);
    heap_empty(&thread->heap);
    reclaim_tick();
    gate_unlock(&thread->gate);
    invariant(thread->warm == NULL && thread->warm_count == 0);
    if (thread == registry.last) {
        lock_release(&registry.last_lock);
        return;
    }
    lock_acquire(&registry.lock);
    live_to_idle(thread);
    lock_release(&registry.lock);
}
