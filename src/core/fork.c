#include "core/fork.h"

#include "core/ending.h"
#include "core/engine.h"
#include "core/epoch.h"
#include "core/partial.h"
#include "core/thread.h"
#include "core/work.h"
#include "os/fatal.h"
#include "os/os.h"

#include <pthread.h>

/* What the forking thread remembers meanwhile; under the engine's lock. */
struct fork_state {
    struct os_signals signals;
    bool has_streams;
    uint32_t ranks;
    struct thread *borrowed; /* the record that it has for the time of the fork, when it has none of its own */
    struct front *front;     /* what it had in place of that record's */
};

static struct {
    struct fork_state state;
    atomic_u32 is_watched;           /* 1: the fork handlers are set, or are being set */
    _Atomic(struct front **) thread; /* the forking thread, by the place of its front_current; NULL: none is forking */
} forking;

/* Before the fork. */

/* The forking thread is in no slow operation, so its own gate stays open: fork handlers of others that run after ours
 * may allocate. */
static void take_gates(struct thread *self)
{
    if (self == NULL || self != registry.last) {
        lock_acquire(&registry.last_lock);
    }
    lock_acquire(&registry.lock);
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            lock_acquire(&thread->gate.lock);
        }
    }
}

/* A thread that has no record borrows one for the time of the fork: fork handlers of others that run after ours may
 * allocate, and no record can be had while the registry is locked. */
static void borrow_record(struct fork_state *state)
{
    state->front = front_current;
    if (front_current->thread != NULL || load_plain(&engine.running) == 0) {
        return;
    }
    state->borrowed = thread_open();
    if (state->borrowed == NULL) {
        state->borrowed = thread_open_last();
    }
    front_current = &state->borrowed->heap.front;
}

/* No signal handler comes between our handlers, for it might fork as well and wait for its own thread. libc takes its
 * streams after all fork handlers have run: where they allocate here, they must come before our gates. */
static void before_fork(void)
{
    struct fork_state state = { .has_streams = heap_serves_malloc };
    if (!os_has_threads()) {
        return;
    }
    os_signals_hold(&state.signals);
    state.ranks = lock_ranks_swap(0);
    if (state.has_streams) {
        os_streams_take();
    }
    (void)engine_start();
    lock_acquire(&engine.lock);
    borrow_record(&state);
    forking.state = state;
    store_plain(&forking.thread, &front_current);
    take_gates(front_current->thread);
}

/* In the child: what vanished threads were cut in. */

enum { COUNT_ANEW = UINT32_MAX };

static void recount_noted(const struct thread *thread)
{
    const uint32_t noted = load_plain(&thread->gate.noted);
    /* An old note may lie in the middle of what is a chunk by now. */
    if (noted == 0 || load_plain(&arena.units[noted].tag) != TAG_CHUNK || arena.units[noted].first != noted) {
        return;
    }
    struct run *chunk = &arena.runs[noted];
    if (load_plain(&chunk->live) >= CHUNK_OPEN / 2) {
        store_plain(&chunk->live, COUNT_ANEW); /* by its cursor */
        return;
    }
    const uint32_t live = chunk_granules(noted);
    store_plain(&chunk->live, live);
    if (live == 0) {
        epoch_recycle_chunk(epoch_existing(word_epoch(load_plain(&chunk->word))), noted);
    }
}

static void recover_hold(struct hold *hold, const struct thread *self)
{
    struct thread *const holder = load_plain(&hold->holder);
    const bool vanished = holder != HOLD_IDLE && holder != HOLD_TAKEN && holder != self;
    char *const start = cursor_start(&hold->cursor);
    if (start != NULL && (vanished || load_plain(&arena.runs[arena_unit(start)].live) == COUNT_ANEW)) {
        chunk_recount(&hold->cursor);
    }
    if (vanished) {
        if (hold->heap != NULL) {
            heap_recount(hold->heap);
        }
        hold->nested = 0;
        hold->serving = NULL; /* which becomes idle as well */
        store_plain(&hold->holder, HOLD_IDLE);
    }
}

static struct epoch *recover_epochs(struct thread *self)
{
    struct epoch *closed = NULL;
    for (const struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            recount_noted(thread);
        }
    }
    for (struct epoch *epoch = epoch_next(0); epoch != NULL; epoch = epoch_next(epoch->id + 1)) {
        const enum epoch_state state = epoch_word_state(load_plain(&epoch->word));
        uint64_t held = state == EPOCH_OPEN ? 1 : 0; /* who closes one has dropped his share: that is in the gate */
        for (struct hold *hold = epoch_first_hold(epoch); hold != NULL && state != EPOCH_FREE; hold = hold_next(hold)) {
            recover_hold(hold, self);
            held += load_plain(&hold->holder) != HOLD_TAKEN;
        }
        if (state == EPOCH_OPEN || state == EPOCH_CLOSED) {
            /* The opening thread may have been cut before it had made all holds idle. */
            const uint64_t word = load_plain(&epoch->word);
            store_plain(&epoch->word, (word & ~(bit_mask(EPOCH_GENERATION_SHIFT) & ~(uint64_t)EPOCH_STATE_MASK)) |
                                          held << EPOCH_HELD_SHIFT);
        }
        if (state == EPOCH_CLOSED) {
            epoch->next_idle = closed;
            closed = epoch;
        }
    }
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            thread->scope = NULL;
            thread->echoes = NULL; /* it may have been cut while it took one */
            thread->paused = 0;
            thread->heap.front.innermost = &hold_none;
        }
        thread->warm = NULL;
        thread->warm_count = 0;
    }
    epoch_gather_free();
    return closed;
}

static void close_epochs(struct thread *self, struct epoch *closed)
{
    while (closed != NULL) {
        struct epoch *const epoch = closed;
        closed = epoch->next_idle;
        ending_help(self, epoch);
    }
}

static void close_vanished(struct thread *self)
{
    /* First make true again what a single give was cut in, then look, then take leave for the others. What the forking
     * thread itself may be in the middle of, if a signal handler forks, it ends itself. */
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        const uint32_t noted = load_plain(&thread->gate.noted);
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

/* After the fork. */

/* In the child the words of locks tell of waiters that it does not have: letting go wakes nobody, and harms nothing. */
static void open_gates(struct thread *self)
{
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            lock_release(&thread->gate.lock);
        }
    }
    lock_release(&registry.lock);
    if (self == NULL || self != registry.last) {
        lock_release(&registry.last_lock);
    }
}

/* Whether before_fork has taken anything in this thread's name. */
static bool is_in_fork(void)
{
    return load_plain(&forking.thread) == &front_current;
}

/* The gates are open. In the child, `closed` are epochs to see to. */
static void fork_done(bool in_child, struct epoch *closed)
{
    const struct fork_state state = forking.state;
    store_plain(&forking.thread, NULL);
    lock_release(&engine.lock);
    if (state.has_streams) {
        os_streams_drop(in_child);
    }
    if (closed != NULL) {
        close_epochs(front_current->thread, closed);
    }
    if (state.borrowed != NULL) {
        front_current = state.front;
        thread_close(state.borrowed);
    }
    (void)lock_ranks_swap(state.ranks);
    os_signals_restore(&state.signals);
}

static void after_fork_parent(void)
{
    if (is_in_fork()) {
        open_gates(front_current->thread);
        fork_done(false, NULL);
    }
}

static void after_fork_child(void)
{
    if (!is_in_fork()) {
        return;
    }
    struct thread *self = front_current->thread;
    struct epoch *closed = NULL;
    /* Where the forking thread itself is in the middle of something, in a signal handler or because the program ends,
     * all stays as it is: the child lacks what the others had, and can allocate. */
    const bool recovers = self != NULL && !self->gate.is_inside && load_plain(&engine.dying) == 0;
    if (recovers) {
        closed = recover_epochs(self);
        for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
            if (thread != self) {
                work_close(self, thread);
            }
        }
    }
    open_gates(self);
    if (recovers) {
        close_vanished(self);
    }
    fork_done(true, closed);
}

/* One thread sets the handlers, and none waits for it: a fork that comes before they are set would cut it off, and the
 * child would wait for ever. When it fails, the next thread that joins tries again: it takes two threads to make a fork
 * dangerous. */
noinline void fork_watch(void)
{
    /* pthread_atfork may allocate, and must not come here again from there. */
    if (exchange_acquire(&forking.is_watched, 1) == 0 &&
        pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0) {
        store_relaxed(&forking.is_watched, 0);
    }
}
