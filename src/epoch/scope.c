/* The scopes of a thread are a stack, linked by `outer`, of the holds that it has, and of reentries for scopes that it
 * entered once more. Each change of the stack sets the ambient anew. */
#include "epoch/scope.h"

#include "common/metadata.h"
#include "common/trace.h"
#include "epoch/ending.h"
#include "epoch/hold.h"
#include "epoch/survivors.h"
#include "os/fatal.h"
#include "os/os.h"
#include "thread/upkeep.h"

#include <errno.h>
#include <string.h>

static void set_quotas(struct epoch *epoch, const struct scope_options *options)
{
    struct epoch *const root = options->is_instance ? epoch : epoch->root;
    epoch->quota = root != NULL ? &root->own_quota : NULL;
    epoch->label_quota = label_quota_of(options->label);
    if (options->is_instance) {
        store_plain(&epoch->own_quota.limit_units, 0);
    }
}

/* Makes a FREE record an OPEN epoch. Returns its value. */
static uint64_t open_record(struct epoch *epoch, const struct scope_options *options)
{
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FREE && epoch->runs == 0);
    invariant(load_plain(&epoch->first.holder) == HOLD_TAKEN && load_plain(&epoch->handles) == NULL);
    store_plain(&epoch->policy, options->policy);
    store_plain(&epoch->plain, options->plain);
    store_plain(&epoch->reclaims, 0);
    store_plain(&epoch->parent, options->parent);
    store_plain(&epoch->instance, options->instance);
    store_plain(&epoch->opened_ms, os_now_ms());
    store_plain(&epoch->closed_ms, 0);
    counter_set(&epoch->recycled_runs, 0);
    invariant(counter_get(&epoch->run_units) == 0);
    counter_set(&epoch->peak_units, 0);
    counter_set(&epoch->refusals, 0);
    store_plain(&epoch->limit_units, options->limit_units);
    set_quotas(epoch, options);
    store_plain(&epoch->is_instance, options->is_instance);
    epoch->affinity = AFFINITY_EPOCH | epoch->id;
    epoch_set_label(epoch, options->label);
    store_relaxed(&epoch->pins, 1);
    invariant(load_plain(&epoch->first.heap) == NULL);
    epoch->first.filled_kib = 0;
    epoch->first.outlives = false;
    epoch->first.free_entry = epoch->first.free_entries = 0;
    /* The word comes before the hold. A thread that comes late to help with a close of the record's earlier life may
     * claim the hold as soon as it is idle, and subtracts it from the word. The word counts the hold, and one for the
     * thread that will close the epoch. */
    const uint64_t generation = (load_plain(&epoch->word) >> EPOCH_GENERATION_SHIFT) + 1;
    store_release(&epoch->word, generation << EPOCH_GENERATION_SHIFT | 2 << EPOCH_HELD_SHIFT | EPOCH_OPEN);
    store_release(&epoch->first.holder, HOLD_IDLE);
    const uint64_t value = generation << EPOCH_GENERATION_SHIFT | epoch->id;
    trace_epoch_open(value, options->label);
    return value;
}

uint64_t scope_open(struct thread *thread, const struct scope_options *options)
{
    struct epoch *epoch = thread_take_warm(thread);
    if (epoch == NULL) {
        gate_lock(&thread->gate);
        thread_fetch_warm(thread);
        epoch = thread_take_warm(thread);
        if (epoch == NULL) {
            epoch = epoch_take_record();
        }
        gate_unlock(&thread->gate);
    }
    if (epoch == NULL) {
        return 0;
    }
    if (epoch->root != epoch_by_value(options->instance)) {
        gate_lock(&thread->gate);
        epoch_set_root(epoch, options->instance);
        gate_unlock(&thread->gate);
    }
    counter_add(&thread->counters.epochs_opened, 1);
    return open_record(epoch, options);
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
    if (unlikely(owned_load(&hold->epoch) != epoch || !hold_claim(hold, thread))) {
        hold = hold_find(thread, epoch, value);
        if (unlikely(hold == NULL)) {
            *status = epoch_is_open_as(epoch, value) ? TSLAB_NO_MEMORY : epoch_refusal(value);
            return NULL;
        }
    }
    /* A thread that closed the epoch meanwhile may have passed by this hold. */
    if (unlikely(!epoch_is_open_as(epoch, value))) {
        scope_return(thread, hold);
        *status = epoch_refusal(value);
        return NULL;
    }
    invariant(hold->epoch == epoch && hold->real == hold && load_plain(&hold->holder) == thread);
    hold->value = value;
    struct heap *const heap = load_plain(&hold->heap);
    if (heap != NULL) {
        heap->front.thread = thread;
        heap->gate = &thread->gate;
    }
    return hold;
}

struct hold *scope_borrow(struct thread *thread, uint64_t value, int *status)
{
    return hold_borrow(thread, value, status);
}

/* The list of the holds that the thread left. */

static void left_forget(struct thread *thread, unsigned place)
{
    invariant(place < LEFT_HOLDS);
    for (; place + 1 < LEFT_HOLDS && thread->left[place].hold != NULL; place++) {
        thread->left[place] = thread->left[place + 1];
    }
    thread->left[place].hold = NULL;
}

static void left_push(struct thread *thread, struct left_hold left)
{
    invariant(left.hold != NULL && thread->left[LEFT_HOLDS - 1].hold == NULL);
    for (unsigned i = LEFT_HOLDS - 1; i != 0; i--) {
        thread->left[i] = thread->left[i - 1];
    }
    thread->left[0] = left;
}

/* Empties such a hold. Returns the first unit of its empty chunk; 0: it had none. */
static uint32_t left_put_away(struct thread *thread, unsigned place)
{
    struct hold *const hold = thread->left[place].hold;
    bool helps;
    invariant(thread->gate.is_inside && hold != NULL);
    left_forget(thread, place);
    const uint32_t first = hold_put_away(thread, hold, &helps);
    if (helps) {
        ending_help_in_gate(thread, hold->epoch);
    }
    return first;
}

/* The bytes of all such holds, and how many there are. */
static size_t left_bytes(const struct thread *thread, unsigned *count)
{
    size_t bytes = 0;
    for (*count = 0; *count < LEFT_HOLDS && thread->left[*count].hold != NULL; ++*count) {
        bytes += thread->left[*count].bytes;
    }
    return bytes;
}

uint32_t scope_take_left(struct thread *thread)
{
    uint32_t first = 0;
    for (unsigned i = LEFT_HOLDS; i-- != 0 && first == 0;) {
        if (thread->left[i].hold != NULL && thread->left[i].has_chunk) {
            first = left_put_away(thread, i);
        }
    }
    return first;
}

/* Empties those that were left longest ago, until there are no more than `most`, of no more than `bytes`. */
static void left_keep(struct thread *thread, unsigned most, size_t bytes)
{
    unsigned count;
    while (left_bytes(thread, &count) > bytes || count > most) {
        const uint32_t first = left_put_away(thread, count - 1);
        if (first != 0) {
            chunk_recycle(first);
        }
    }
}

void scope_drop_left(struct thread *thread)
{
    left_keep(thread, 0, 0);
    invariant(thread->left[0].hold == NULL);
}

/* Before a thread leaves a hold. It closes full chunks. Of the rest, a thread keeps little, in the few holds that it
 * left last: an empty chunk, free slots and their slabs stay there until it leaves others, or needs a chunk. A chunk
 * with objects stays with its hold, and the next scope fills it on. */
static noinline void hold_leave(struct thread *thread, struct hold *hold)
{
    enum { MOST = LEFT_KIB * 1024 };
    struct heap *const heap = load_plain(&hold->heap);
    const bool has_chunk = cursor_start(&hold->cursor) != NULL, is_empty = has_chunk && chunk_is_empty(&hold->cursor);
    const size_t chunk = is_empty ? CHUNK_BYTES : 0;
    size_t slots = heap == NULL ? 0 : heap_weight(heap);
    unsigned count, place = 0;
    while (place < LEFT_HOLDS && thread->left[place].hold != hold) {
        place++;
    }
    if (place < LEFT_HOLDS) {
        left_forget(thread, place);
    }
    const bool keeps = is_empty || heap != NULL, is_heavy = chunk + slots > MOST && heap != NULL;
    const bool drops = keeps && (left_bytes(thread, &count) + chunk + slots > MOST || count == LEFT_HOLDS);
    if (is_heavy || drops || hold->full != 0) {
        gate_lock(&thread->gate);
        hold_close_full(hold);
        if (is_heavy) {
            heap_lighten(heap, MOST - chunk);
            slots = heap_weight(heap);
        }
        left_keep(thread, LEFT_HOLDS - 1, keeps ? MOST - chunk - slots : MOST);
        upkeep(&thread->heap);
        ending_unlock_gate(thread);
    }
    if (keeps) {
        left_push(thread, (struct left_hold){ hold, (uint32_t)(chunk + slots), is_empty });
    }
    hold->outlives |= has_chunk && !is_empty;
}

void scope_return(struct thread *thread, struct hold *hold)
{
    invariant(load_plain(&hold->holder) == thread);
    if (unlikely(thread->left[0].hold != hold || load_plain(&hold->heap) != NULL || hold->full != 0)) {
        hold_leave(thread, hold);
    }
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

/* Takes an unused reentry of the thread, or makes one. NULL: no memory. */
static struct hold *take_reentry(struct thread *thread)
{
    struct hold *reentry = thread->reentries;
    if (reentry != NULL) {
        thread->reentries = reentry->outer;
        return reentry;
    }
    gate_lock(&thread->gate);
    reentry = metadata_alloc(sizeof *reentry);
    gate_unlock(&thread->gate);
    if (reentry != NULL) {
        chunk_abandon(&reentry->cursor);
    }
    return reentry;
}

static void put_reentry(struct thread *thread, struct hold *reentry)
{
    invariant(reentry->real != reentry && reentry->nested == 0);
    reentry->outer = thread->reentries;
    thread->reentries = reentry;
}

static int entered_status(bool plain)
{
    return plain && heap_serves_malloc ? TSLAB_OK : TSLAB_EXPLICIT;
}

/* Enters an epoch once more, of which the thread has the hold `real`. */
static noinline int scope_enter_again(struct thread *thread, struct hold *real)
{
    invariant(thread->scope != NULL && real->real == real && load_plain(&real->holder) == thread);
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
    struct hold *const reentry = take_reentry(thread);
    if (reentry == NULL) {
        return TSLAB_NO_MEMORY;
    }
    reentry->epoch = real->epoch;
    reentry->value = real->value;
    reentry->real = real;
    reentry->nested = 1;
    reentry->outer = innermost;
    reentry->ambient = plain ? real : innermost->ambient;
    thread->scope = reentry;
    ambient_set(thread);
    return entered_status(plain);
}

/* Undoes one scope_enter_again of a scope. True: the scope was a reentry, and is over. */
static bool scope_leave_again(struct hold *hold)
{
    invariant(hold->nested != 0);
    return --hold->nested == 0 && hold->real != hold;
}

always_inline int scope_enter_new(struct thread *thread, uint64_t value)
{
    int status;
    struct hold *hold = hold_borrow(thread, value, &status);
    if (unlikely(hold == NULL)) {
        return status;
    }
    const bool plain = load_plain(&hold->epoch->plain) != 0;
    invariant(hold->nested == 0);
    hold->outer = thread->scope;
    hold->ambient = plain ? hold : hold->outer == NULL ? NULL : hold->outer->ambient;
    thread->scope = hold;
    ambient_set_here(thread);
    return entered_status(plain);
}

/* scope_enter for a thread that is inside of some scope. */
static noinline int scope_enter_inside(struct thread *thread, uint64_t value)
{
    struct hold *const real = scope_inside(thread, value);
    return real != NULL ? scope_enter_again(thread, real) : scope_enter_new(thread, value);
}

int scope_enter(struct thread *thread, uint64_t value)
{
    return thread->scope != NULL ? scope_enter_inside(thread, value) : scope_enter_new(thread, value);
}

/* Leaves a scope that was entered once more. */
static noinline void scope_leave_more(struct thread *thread, struct hold *hold)
{
    if (scope_leave_again(hold)) {
        thread->scope = hold->outer;
        ambient_set(thread);
        put_reentry(thread, hold);
    }
}

static void scope_leave_innermost(struct thread *thread)
{
    struct hold *hold = thread->scope;
    invariant(hold != NULL && load_plain(&hold->real->holder) == thread);
    if (unlikely(hold->nested != 0)) {
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
    invariant(thread->paused != UINT32_MAX);
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

/* Advances from an epoch that is not the thread's innermost one: the thread's scopes stay as they are. */
static int advance_outside(struct thread *thread, uint64_t value, uint64_t next, bool reclaims,
                           struct tslab_epoch_report *report)
{
    const int status = ending_close(thread, value, reclaims, report);
    if (status < 0) {
        (void)ending_close(thread, next, false, NULL);
    }
    return status;
}

/* Takes the scope `hold`, which lies right below the innermost one, off the stack: gives the hold back, or counts one
 * entry less. In the gate. */
static void scope_replace(struct thread *thread, struct hold *hold)
{
    invariant(thread->gate.is_inside && thread->scope->outer == hold);
    if (hold->nested == 0) {
        thread->scope->outer = hold->outer;
        hold_close_full(hold);
        (void)hold_make_idle(hold); /* the caller, which closes the epoch, looks for idle holds itself */
    } else if (scope_leave_again(hold)) {
        thread->scope->outer = hold->outer;
        put_reentry(thread, hold);
    }
}

/* Advances from the epoch that the thread is innermost in: `next` replaces it as the innermost scope. */
static int advance_inside(struct thread *thread, struct epoch *epoch, uint64_t value, uint64_t next, bool reclaims,
                          struct tslab_epoch_report *report)
{
    /* It enters before it is in the gate. A thread that comes late to help with a close of the record's earlier life
     * may take the only hold of the next epoch, and then the entry makes another one. */
    struct hold *const hold = thread->scope;
    invariant(hold != NULL);
    if (scope_enter(thread, next) < 0) {
        (void)ending_close(thread, next, false, NULL);
        return TSLAB_NO_MEMORY;
    }
    /* The thread that marks the epoch first closes it. A second one that tries has changed nothing. */
    gate_lock(&thread->gate);
    if (report != NULL) {
        ending_begin_report(epoch, reclaims, report);
    }
    int status = ending_mark_closed(thread, epoch, value, reclaims);
    if (status == TSLAB_OK) {
        /* The next epoch's scope replaces the innermost one. Further out, the thread may be inside of the old epoch. */
        scope_replace(thread, hold);
        status = ending_complete(thread, epoch, value, report);
    }
    ending_unlock_gate(thread);
    if (status < 0) {
        scope_leave_innermost(thread);
        (void)ending_close(thread, next, false, NULL);
    }
    return status;
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
        .limit_units = load_plain(&epoch->limit_units),
        .plain = load_plain(&epoch->plain) != 0,
    };
    const uint64_t next = scope_open(thread, &options);
    if (next == 0) {
        return TSLAB_NO_MEMORY;
    }
    const int status = scope_value(thread) != *value ? advance_outside(thread, *value, next, reclaims, report)
                                                     : advance_inside(thread, epoch, *value, next, reclaims, report);
    if (status >= 0) {
        *value = next;
    }
    return status;
}

void scope_leave_all(struct thread *thread)
{
    thread->paused = 0;
    while (thread->scope != NULL) {
        scope_leave_innermost(thread);
    }
    if (thread->left[0].hold != NULL) {
        gate_lock(&thread->gate);
        scope_drop_left(thread);
        ending_unlock_gate(thread);
    }
    invariant(front_current->innermost == &hold_none && front_current->filling == &hold_none);
}
