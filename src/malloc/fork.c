/* Three fork handlers, registered once. They take their steps in the order of docs/protocols/thread.md. Only if the
 * forking thread is in no operation itself, the child recovers what other threads were cut in, and closes what they
 * left. */
#include "malloc/fork.h"

#include "common/trace.h"
#include "epoch/ending.h"
#include "epoch/hold.h"
#include "epoch/scope.h"
#include "epoch/work_unit.h"
#include "malloc/engine.h"
#include "malloc/program_threads.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/epoch_record.h"
#include "slab/partial_list.h"
#include "space/limit.h"
#include "thread/keeper.h"
#include "thread/nap.h"
#include "thread/thread.h"

#include <pthread.h>
#include <string.h>

/* State that the forking thread keeps from before the fork until after it. Under the engine's lock. */
struct fork_state {
    struct os_signals signals;
    bool has_streams;        /* libc's streams are taken */
    uint32_t ranks;          /* the ranks of locks that the thread held before */
    struct thread *borrowed; /* the record that it borrows for the fork; NULL: it has its own */
    struct front *front;     /* its front_current before it borrowed a record */
};

static struct {
    struct fork_state state;
    atomic_u32 is_watched;           /* 1: the fork handlers are set, or are being set */
    _Atomic(struct front **) thread; /* the address of the forking thread's front_current; NULL: no thread forks */
} forking;

/* Before the fork. */

/* The forking thread's own gate stays open, because the thread is in no slow operation: fork handlers of other
 * libraries that run after ours may allocate. */
static void take_gates(struct thread *self)
{
    if (self == NULL || self != registry.last) {
        lock_acquire(&registry.last_lock);
    }
    lock_acquire(&registry.lock);
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            lock_acquire(&thread->gate.lock);
            invariant(!thread->gate.is_inside);
        }
    }
}

/* Borrows a record for the time of the fork, if the thread has none: fork handlers of other libraries that run after
 * ours may allocate, and no record can be taken while the registry is locked. */
static void borrow_record(struct fork_state *state)
{
    state->front = front_current;
    if (front_current->thread != NULL || load_plain(&engine.running) == 0) {
        return;
    }
    state->borrowed = thread_open(false);
    if (state->borrowed == NULL) {
        state->borrowed = thread_open_last();
    }
    front_current = &state->borrowed->heap.front;
}

/* Signals are blocked between our handlers: a signal handler might fork as well, and would wait for its own thread.
 * libc takes its streams after all fork handlers have run. Where the streams allocate here, they must be taken before
 * our gates. */
static void before_fork(void)
{
    struct fork_state state = { .has_streams = heap_serves_malloc };
    if (!os_has_threads()) {
        return;
    }
    os_signals_hold(&state.signals);
    state.ranks = lock_ranks_swap(0);
    lock_acquire(&program_threads.lock);
    if (state.has_streams) {
        os_streams_take();
    }
    (void)engine_start();
    lock_acquire(&engine.lock);
    invariant(load_plain(&forking.thread) == NULL);
    lock_acquire(&keeper.lock);
    borrow_record(&state);
    forking.state = state;
    store_plain(&forking.thread, &front_current);
    take_gates(front_current->thread);
    laws_at_moment(MOMENT_FORK, front_current->thread, state.ranks | load_plain(&engine.dying));
}

/* In the child: repairs what vanished threads were cut in. */

enum { COUNT_ANEW = UINT32_MAX };

static void recount_noted(const struct thread *thread)
{
    const uint32_t noted = load_plain(&thread->gate.noted);
    /* An old note may be a unit inside of a run that is a chunk by now. */
    if (noted == 0 || unit_tag(noted) != TAG_CHUNK || arena.units[noted].first != noted) {
        return;
    }
    struct run *chunk = &arena.runs[noted];
    if (load_plain(&chunk->chunk.filler) != NULL) {
        chunk_recount_full(noted);
        return;
    }
    if (load_plain(&chunk->live) >= CHUNK_OPEN / 2) {
        store_plain(&chunk->live, COUNT_ANEW); /* recover_hold counts it by its cursor */
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
        for (uint32_t at = hold->full; at != 0; at = arena.runs[at].next == hold->full ? 0 : arena.runs[at].next) {
            chunk_recount_full(at);
        }
        hold_close_full(hold);
        hold->nested = 0;
        hold->free_entry = hold->free_entries = 0; /* the child may find the list cut in two */
        store_plain(&hold->holder, HOLD_IDLE);
    }
    invariant(start == NULL || load_plain(&arena.runs[arena_unit(start)].live) != COUNT_ANEW);
}

static struct epoch *recover_epochs(struct thread *self)
{
    struct epoch *closed = NULL;
    for (const struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        if (thread != self) {
            recount_noted(thread);
        }
    }
    uint32_t at = 0;
    for (struct epoch *epoch; (epoch = epoch_next(&at)) != NULL;) {
        const enum epoch_state state = epoch_word_state(load_plain(&epoch->word));
        /* A closing thread marks the word and drops its share in one stay in the gate, so a CLOSED epoch has no share.
         */
        uint64_t held = state == EPOCH_OPEN ? 1 : 0;
        for (struct hold *hold = epoch_first_hold(epoch); hold != NULL && state != EPOCH_FREE; hold = hold_next(hold)) {
            recover_hold(hold, self);
            held += load_plain(&hold->holder) != HOLD_TAKEN;
        }
        if (state == EPOCH_OPEN || state == EPOCH_CLOSED) {
            /* The opening thread may have been cut before it had made its hold idle. */
            invariant(held <= EPOCH_HELD_MOST);
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
            memset(thread->left, 0, sizeof thread->left);
            thread->reentries = NULL; /* the thread may have been cut while it took one */
            thread->paused = 0;
            thread->heap.front.innermost = &hold_none;
        }
        thread->warm = NULL;
        thread->warm_count = 0;
    }
    epoch_gather_free();
    return closed;
}

static void close_vanished(struct thread *self)
{
    /* First recount the slabs in which a single give was cut, and evaluate them. Then close the records. If a signal
     * handler forks, the forking thread itself may be in the middle of something, and ends that itself. */
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        const uint32_t noted = load_plain(&thread->gate.noted);
        if (noted == 0 || thread == self) {
            continue;
        }
        struct run *slab = &arena.runs[noted];
        const uint32_t word = load_plain(&slab->word);
        if (word_state(word) != SLAB_EMPTY && word_class(word) != CLASS_NONE) { /* recount_noted has seen to chunks */
            slab_recount(slab, &class_geometry[word_class(word)]);
            partial_evaluate(slab);
        }
    }
    struct thread *next;
    for (struct thread *thread = registry.live; thread != NULL; thread = next) {
        next = thread->next;
        if (thread != self && thread != registry.last) { /* no thread had the last record: its lock was taken */
            thread_close(thread);
        }
    }
}

/* After the fork. */

/* In the child the words of locks tell of waiters that it does not have. To release them wakes nothing and does no
 * harm. */
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

/* Whether before_fork has taken locks for this thread. */
static bool is_in_fork(void)
{
    return load_plain(&forking.thread) == &front_current;
}

/* Common to both sides when the gates are open. In the child, `closed` is the list of epochs whose close is to be
 * completed. */
static void fork_done(bool in_child, struct epoch *closed)
{
    const struct fork_state state = forking.state;
    invariant(is_in_fork() && (in_child || closed == NULL));
    store_plain(&forking.thread, NULL);
    if (in_child) {
        program_threads_is_gone();
        trace_in_child();
        if (load_plain(&engine.key) == KEY_IN_MAKING) { /* by a thread that is gone */
            store_plain(&engine.key, KEY_NONE);
        }
    }
    lock_release(&keeper.lock);
    lock_release(&engine.lock);
    if (state.has_streams) {
        os_streams_drop(in_child);
    }
    lock_release(&program_threads.lock);
    if (in_child && front_current->thread != NULL) {
        store_plain(&front_current->thread->number, os_thread_id());
    }
    while (closed != NULL) {
        struct epoch *const epoch = closed;
        invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_CLOSED);
        closed = epoch->next_idle;
        ending_help(front_current->thread, epoch);
    }
    if (state.borrowed != NULL) {
        front_current = state.front;
        scope_leave_all(state.borrowed);
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
    nap_is_in_child();
    if (!is_in_fork()) {
        return;
    }
    struct thread *self = front_current->thread;
    struct epoch *closed = NULL;
    /* The forking thread itself may be in the middle of something, in a signal handler or because the program ends.
     * Then everything stays as it is: the child loses what the other threads had, and can allocate. */
    const bool recovers = self != NULL && !self->gate.is_inside && load_plain(&engine.dying) == 0;
    if (recovers) {
        closed = recover_epochs(self);
        for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
            if (thread != self) {
                work_unit_close(self, thread);
            }
        }
    }
    laws_at_moment(MOMENT_CUT, self, counter_get(&heap_live_count));
    open_gates(self);
    if (recovers) {
        close_vanished(self);
        laws_at_moment(MOMENT_FORK, self, forking.state.ranks);
    }
    fork_done(true, closed);
    if (recovers) {
        program_threads_settle();
    }
}

/* One thread sets the handlers, and no thread waits for it: a fork that comes before they are set would cut that thread
 * off, and the child would wait for ever. When it fails, the next thread that joins tries again. That is early enough,
 * because a fork is dangerous only where there are two threads. */
noinline void fork_watch(void)
{
    /* pthread_atfork may allocate, and must not come here again from there. */
    if (load_relaxed(&forking.is_watched) == 0 && swap_acquire(&forking.is_watched, 1) == 0 &&
        pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0) {
        store_relaxed(&forking.is_watched, 0);
    }
}
