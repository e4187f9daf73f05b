#include "core/thread.h"

#include "core/meta.h"
#include "core/reclaim.h"
#include "os/fatal.h"

struct registry registry = { .lock = LOCK_INIT(RANK_REGISTRY), .last_lock = LOCK_INIT(RANK_LAST) };

static void record_start(struct thread *thread)
{
    thread->gate.rank = RANK_GATE;
    heap_start(&thread->heap, thread, &epoch_process, heap_next_affinity());
    thread->scope_heap.thread = thread;
    thread->scope_heap.innermost = &hold_none;
    thread->scope_heap.filling = &hold_none;
    thread->scope_heap.magazine[CLASS_NONE].tag = TAG_NEVER;
    for (unsigned i = 0; i < REMEMBERED_HOLDS; i++) {
        thread->remembered[i] = &hold_none;
    }
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

/* Moves a live record, whose heap is empty, to the idle ones. */
static void live_to_idle(struct thread *thread)
{
    *(thread->prev == NULL ? &registry.live : &thread->prev->next) = thread->next;
    if (thread->next != NULL) {
        thread->next->prev = thread->prev;
    }
    thread->next = registry.idle;
    registry.idle = thread;
    counter_set(&registry.live_count, counter_get(&registry.live_count) - 1);
}

struct thread *thread_open(void)
{
    lock_acquire(&registry.lock);
    struct thread *thread = registry.idle;
    if (thread != NULL) {
        registry.idle = thread->next;
    } else {
        thread = meta_alloc(sizeof *thread);
        if (thread != NULL) {
            record_start(thread);
            counter_add(&registry.record_count, 1);
        }
    }
    if (thread != NULL) {
        live_link(thread);
        counter_add(&registry.live_count, 1);
    }
    lock_release(&registry.lock);
    return thread;
}

bool thread_reserve_last(void)
{
    if (registry.last == NULL) {
        registry.last = meta_alloc(sizeof *registry.last);
    }
    return registry.last != NULL;
}

struct thread *thread_open_last(void)
{
    struct thread *const last = registry.last;
    lock_acquire(&registry.last_lock);
    if (last->heap.thread == NULL) {
        record_start(last);
        lock_acquire(&registry.lock);
        live_link(last);
        lock_release(&registry.lock);
    }
    return last;
}

void thread_close(struct thread *thread)
{
    gate_lock(thread);
    heap_empty(&thread->heap);
    reclaim_tick();
    gate_unlock(thread);
    if (thread == registry.last) {
        lock_release(&registry.last_lock);
        return;
    }
    lock_acquire(&registry.lock);
    live_to_idle(thread);
    lock_release(&registry.lock);
}

/* The forking thread is in no slow operation, so its own gate stays open: fork handlers of others that run after ours
 * may allocate. */
void thread_fork_prepare(struct thread *self)
{
    if (self == NULL || self != registry.last) {
        lock_acquire(&registry.last_lock);
    }
    lock_acquire(&registry.lock);
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            lock_acquire(&thread->gate);
        }
    }
}

/* In the child the words of locks tell of waiters that it does not have: letting go wakes nobody, and harms nothing. */
void thread_fork_done(struct thread *self)
{
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            lock_release(&thread->gate);
        }
    }
    lock_release(&registry.lock);
    if (self == NULL || self != registry.last) {
        lock_release(&registry.last_lock);
    }
}

void thread_fork_child(struct thread *self)
{
    /* First make true again what a single give was cut in, then look, then take leave for the others. What the forking
     * thread itself may be in the middle of, if a signal handler forks, it ends itself. */
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        const uint32_t noted = load_plain(&thread->noted);
        if (noted == 0 || thread == self) {
            continue;
        }
        struct run *slab = &arena.runs[noted];
        const uint32_t word = load_plain(&slab->word);
        if (word_state(word) != SLAB_EMPTY && word_class(word) != CLASS_NONE) { /* chunks: scope.h */
            slab_recount(slab, &class_geometry[word_class(word)]);
            partial_evaluate(slab);
        }
    }
    struct thread *next;
    for (struct thread *thread = registry.live; thread != NULL; thread = next) {
        next = thread->next;
        if (thread != self && thread != registry.last) { /* which nobody had */
            heap_recount(&thread->heap);
            thread_close(thread);
        }
    }
}
