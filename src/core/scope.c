#include "core/scope.h"

#include "core/ambient.h"
#include "core/ending.h"
#include "core/hold.h"
#include "core/meta.h"
#include "core/survivors.h"
#include "os/fatal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

/* Makes a FREE record an OPEN epoch; returns its value. */
static uint64_t open_record(struct epoch *epoch, const struct scope_options *options)
{
    store_plain(&epoch->policy, options->policy);
    store_plain(&epoch->plain, options->plain);
    store_plain(&epoch->reclaims, 0);
    store_plain(&epoch->parent, options->parent);
    store_plain(&epoch->instance, options->instance);
    store_plain(&epoch->opened_ms, os_now_ms());
    store_plain(&epoch->closed_ms, 0);
    counter_set(&epoch->recycled_runs, 0);
    store_plain(&epoch->handles, NULL);
    store_plain(&epoch->is_instance, options->is_instance);
    store_plain(&epoch->owner, options->serves);
    epoch->affinity = AFFINITY_EPOCH | epoch->id | (options->serves != NULL ? AFFINITY_HANDLE : 0);
    epoch_set_label(epoch, options->label);
    store_relaxed(&epoch->pins, 1);
    epoch->first.heap = NULL;
    epoch->first.filled_kib = 0;
    /* The word comes before the hold: one who comes late to help with a close of the record's earlier life may claim it
     * as soon as it is idle, and counts it in the word. It counts the hold, and one for who will close. */
    const uint64_t generation = (load_plain(&epoch->word) >> EPOCH_GENERATION_SHIFT) + 1;
    store_release(&epoch->word, generation << EPOCH_GENERATION_SHIFT | 2 << EPOCH_HELD_SHIFT | EPOCH_OPEN);
    store_release(&epoch->first.holder, HOLD_IDLE);
    return generation << EPOCH_GENERATION_SHIFT | epoch->id;
}

uint64_t scope_open(struct thread *thread, const struct scope_options *options)
{
    struct epoch *epoch = thread_take_warm(thread);
    if (epoch == NULL) {
        gate_lock(&thread->gate);
        epoch = epoch_take_record();
        gate_unlock(&thread->gate);
    }
    if (epoch == NULL) {
        return 0;
    }
    counter_add(&thread->counters.epochs_opened, 1);
    return open_record(epoch, options);
}

struct epoch *scope_serve_handles(struct thread *thread, struct epoch *owner)
{
    const struct scope_options options = { .policy = (enum tslab_policy)load_plain(&owner->policy), .serves = owner };
    struct epoch *there = NULL;
    /* All in the gate: the child of a fork must not find the one without the other. */
    gate_lock(&thread->gate);
    struct epoch *made = thread_take_warm(thread);
    if (made == NULL) {
        made = epoch_take_record();
    }
    if (made != NULL) {
        const uint64_t value = open_record(made, &options);
        (void)fetch_add_relaxed(&owner->pins, 1);
        if (!cas_seq_cst(&owner->handles, &there, made)) {
            (void)ending_close_in_gate(thread, value, false, NULL); /* another thread was first */
            made = there;
        }
    }
    gate_unlock(&thread->gate);
    return made;
}

always_inline struct hold *hold_borrow(struct thread *thread, uint64_t value, int *status)
{
    const uint32_t id = (uint32_t)(value & bit_mask(EPOCH_GENERATION_SHIFT));
    struct epoch *epoch = epoch_by_id(id);
    if (unlikely(id <= EPOCH_PROCESS || epoch == NULL || !epoch_is_open_as(epoch, value))) {
        *status = epoch_refusal(value);
        return NULL;
    }
    struct hold *hold = thread->remembered[id % REMEMBERED_HOLDS];
    if (unlikely(hold->epoch != epoch || !hold_claim(hold, thread))) {
        hold = hold_find(thread, epoch, value);
        if (unlikely(hold == NULL)) {
            *status = epoch_is_open_as(epoch, value) ? TSLAB_NO_MEMORY : epoch_refusal(value);
            return NULL;
        }
    }
    /* Who closed meanwhile may have passed by this hold. */
    if (unlikely(!epoch_is_open_as(epoch, value))) {
        scope_return(thread, hold);
        *status = epoch_refusal(value);
        return NULL;
    }
    hold->value = value;
    if (hold->heap != NULL) {
        hold->heap->front.thread = thread;
        hold->heap->gate = &thread->gate;
    }
    return hold;
}

struct hold *scope_borrow(struct thread *thread, uint64_t value, int *status)
{
    return hold_borrow(thread, value, status);
}

void scope_return(struct thread *thread, struct hold *hold)
{
    if (unlikely(hold_make_idle(hold))) {
        ending_help(thread, hold->epoch);
    }
}

struct hold *scope_inside(const struct thread *thread, uint64_t value)
{
    const struct hold *hold = thread->scope;
    while (hold != NULL && hold->value != value) {
        hold = hold->outer;
    }
    return hold == NULL ? NULL : hold->real;
}

/* An echo of the thread's own; NULL: no memory. */
static struct hold *take_echo(struct thread *thread)
{
    struct hold *echo = thread->echoes;
    if (echo != NULL) {
        thread->echoes = echo->outer;
        return echo;
    }
    gate_lock(&thread->gate);
    echo = meta_alloc(sizeof *echo);
    gate_unlock(&thread->gate);
    if (echo != NULL) {
        chunk_abandon(&echo->cursor);
    }
    return echo;
}

static void put_echo(struct thread *thread, struct hold *echo)
{
    invariant(echo->real != echo && echo->nested == 0);
    echo->outer = thread->echoes;
    thread->echoes = echo;
}

static int entered_status(bool plain)
{
    return plain && heap_serves_malloc ? TSLAB_OK : TSLAB_EXPLICIT;
}

/* Enters an epoch in which the thread has that hold already: it needs no other. */
static noinline int scope_enter_again(struct thread *thread, struct hold *real)
{
    if (!epoch_is_open_as(real->epoch, real->value)) {
        return epoch_refusal(real->value);
    }
    const bool plain = load_plain(&real->epoch->plain) != 0;
    struct hold *const innermost = thread->scope;
    if (innermost->real == real) {
        if (innermost->nested == UINT32_MAX) {
            return TSLAB_NO_MEMORY;
        }
        innermost->nested++;
        return entered_status(plain);
    }
    struct hold *const echo = take_echo(thread);
    if (echo == NULL) {
        return TSLAB_NO_MEMORY;
    }
    echo->epoch = real->epoch;
    echo->value = real->value;
    echo->real = real;
    echo->nested = 1;
    echo->outer = innermost;
    echo->ambient = plain ? real : innermost->ambient;
    thread->scope = echo;
    ambient_set(thread);
    return entered_status(plain);
}

/* Undoes one enter_again of a scope; true: it was an echo, and is over. */
static bool scope_leave_again(struct hold *hold)
{
    invariant(hold->nested != 0);
    return --hold->nested == 0 && hold->real != hold;
}

/* The scope of a hold ends: gives back what it had of the epoch that serves handles, before the hold itself. */
always_inline void return_serving(struct thread *thread, struct hold *hold)
{
    struct hold *const serving = hold->serving;
    if (unlikely(serving != NULL)) {
        hold->serving = NULL;
        scope_return(thread, serving);
    }
}

always_inline int scope_enter_new(struct thread *thread, uint64_t value)
{
    int status;
    struct hold *hold = hold_borrow(thread, value, &status);
    if (unlikely(hold == NULL)) {
        return epoch_is_hidden(value) ? TSLAB_STALE : status;
    }
    const bool plain = load_plain(&hold->epoch->plain) != 0;
    if (unlikely(!plain && load_plain(&hold->epoch->owner) != NULL)) {
        scope_return(thread, hold); /* hidden: never plain */
        return TSLAB_STALE;
    }
    hold->outer = thread->scope;
    hold->ambient = plain ? hold : hold->outer == NULL ? NULL : hold->outer->ambient;
    thread->scope = hold;
    ambient_set_here(thread);
    return entered_status(plain);
}

/* By a thread that is inside of something. */
static noinline int scope_enter_inside(struct thread *thread, uint64_t value)
{
    struct hold *const real = scope_inside(thread, value);
    return real != NULL ? scope_enter_again(thread, real) : scope_enter_new(thread, value);
}

int scope_enter(struct thread *thread, uint64_t value)
{
    return thread->scope != NULL ? scope_enter_inside(thread, value) : scope_enter_new(thread, value);
}

/* Leaves a scope that was entered once more, or that has a hold of the epoch that serves handles. */
static noinline void scope_leave_more(struct thread *thread, struct hold *hold)
{
    if (hold->nested == 0) {
        thread->scope = hold->outer;
        ambient_set(thread);
        return_serving(thread, hold);
        scope_return(thread, hold);
    } else if (scope_leave_again(hold)) {
        thread->scope = hold->outer;
        ambient_set(thread);
        put_echo(thread, hold);
    }
}

static void scope_leave_innermost(struct thread *thread)
{
    struct hold *hold = thread->scope;
    if (unlikely((hold->nested | (uintptr_t)hold->serving) != 0)) {
        scope_leave_more(thread, hold);
        return;
    }
    thread->scope = hold->outer;
    ambient_set_here(thread);
    scope_return(thread, hold);
}

int scope_leave(struct thread *thread, uint64_t value)
{
    if (thread->scope == NULL || thread->scope->value != value) {
        return TSLAB_NOT_INSIDE;
    }
    scope_leave_innermost(thread);
    return TSLAB_OK;
}

uint64_t scope_value(const struct thread *thread)
{
    return thread->scope == NULL ? 0 : thread->scope->value;
}

bool scope_is_inside(const struct thread *thread, uint64_t value)
{
    return scope_inside(thread, value) != NULL;
}

uint32_t scope_count(const struct thread *thread)
{
    uint32_t n = 0;
    for (const struct hold *hold = thread->scope; hold != NULL; hold = hold->outer) {
        n += hold->nested + (hold->real == hold);
    }
    return n;
}

void scope_pause(struct thread *thread)
{
    thread->paused++;
    ambient_set(thread);
}

bool scope_resume(struct thread *thread)
{
    if (thread->paused == 0) {
        return false;
    }
    thread->paused--;
    ambient_set(thread);
    return true;
}

int scope_advance(struct thread *thread, uint64_t *value, bool reclaims, struct tslab_epoch_report *report)
{
    struct epoch *epoch = epoch_by_value(*value);
    if (epoch == NULL || !epoch_is_open_as(epoch, *value)) {
        return epoch_refusal(*value);
    }
    char label[EPOCH_LABEL_BYTES];
    (void)epoch_label(epoch, label);
    const struct scope_options options = {
        .label = label,
        .parent = load_plain(&epoch->parent),
        .instance = load_plain(&epoch->instance),
        .policy = (enum tslab_policy)load_plain(&epoch->policy),
        .plain = load_plain(&epoch->plain) != 0,
    };
    const uint64_t next = scope_open(thread, &options);
    if (next == 0) {
        return TSLAB_NO_MEMORY;
    }
    if (scope_value(thread) != *value) {
        const int status = ending_close(thread, *value, reclaims, report);
        if (status < 0) {
            (void)ending_close(thread, next, false, NULL);
        } else {
            *value = next;
        }
        return status;
    }
    /* Before the gate: who comes late to help with a close of the record's earlier life may take the only hold of the
     * next one, and then another is made. */
    struct hold *const hold = thread->scope;
    if (scope_enter(thread, next) < 0) {
        (void)ending_close(thread, next, false, NULL);
        return TSLAB_NO_MEMORY;
    }
    const bool leaves = hold->nested == 0;
    if (leaves) {
        return_serving(thread, hold);
    }
    /* Whoever marks it first closes it, and another who tries has changed nothing. */
    struct survivors_line line;
    ending_lock_gate(thread, &line);
    if (report != NULL) {
        ending_begin_report(epoch, reclaims, report);
    }
    int status = ending_mark_closed(epoch, *value, reclaims);
    if (status == TSLAB_OK) {
        ending_count(thread, epoch);
        /* The scope that was innermost is replaced by the next one's; the thread may be inside of the old one further
         * out. */
        if (leaves) {
            thread->scope->outer = hold->outer;
            (void)hold_make_idle(hold); /* we look ourselves */
        } else if (scope_leave_again(hold)) {
            thread->scope->outer = hold->outer;
            put_echo(thread, hold);
        }
        ending_freeze_holds(thread, epoch, *value);
        status = ending_complete(thread, epoch, report);
    }
    ending_unlock_gate(thread);
    if (status < 0) {
        scope_leave_innermost(thread);
        (void)ending_close(thread, next, false, NULL);
        return status;
    }
    *value = next;
    return status;
}

void scope_leave_all(struct thread *thread)
{
    thread->paused = 0;
    while (thread->scope != NULL) {
        scope_leave_innermost(thread);
    }
}
