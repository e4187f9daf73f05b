#include "core/scope.h"

#include "core/current.h"
#include "core/depot.h"
#include "core/large.h"
#include "core/meta.h"
#include "core/reclaim.h"
#include "core/survivors.h"
#include "os/fatal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

enum {
    WARM_EPOCHS = 4, /* that a thread keeps, with a chunk each */
    /* A hold that used up so much in chunks goes over to slabs (docs/decisions/chunks.md). */
    SLABS_FROM_BYTES = EPOCH_SLABS_FROM_KIB * 1024,
};

bool scope_malloc_is_ours;

/* Around a verb that may finish an epoch. A line that is to be said of its survivors is written when the gate is open
 * again: whoever reads stderr may be slow, and may need a fork or a new thread before he reads on. */
static void verb_begin(struct thread *thread, struct survivors_line *line)
{
    line->length = 0;
    gate_lock(thread);
    thread->line = line;
}

static void verb_end(struct thread *thread)
{
    const struct survivors_line *const line = thread->line;
    thread->line = NULL;
    gate_unlock(thread);
    survivors_say(line);
}

/* Holds. */

/* Claims a hold for who closes. Also where that fails it is a look at what the hold is after the epoch's word changed.
 */
static bool hold_claim_to_close(struct hold *hold)
{
    struct thread *found = HOLD_IDLE;
    return cas_seq_cst(&hold->holder, &found, HOLD_TAKEN);
}

static bool epoch_is_open_as(const struct epoch *epoch, uint64_t value)
{
    const uint64_t word = load_seq_cst(&epoch->word);
    return epoch_same_generation(word, value) && epoch_word_state(word) == EPOCH_OPEN;
}

static bool epoch_is_doomed(const struct epoch *epoch)
{
    const uint32_t policy = load_plain(&epoch->policy);
    return policy == TSLAB_POLICY_RELEASE || policy == TSLAB_POLICY_TRAP;
}

/* Counts, in the thread's record, that it has closed an epoch of a user's. */
static void count_closed(struct thread *thread, const struct epoch *epoch)
{
    counter_add(&thread->counters.epochs_closed, load_plain(&epoch->owner) == NULL);
}

/* Why an epoch that is not open is refused. */
static noinline int epoch_refusal(uint64_t value)
{
    return epoch_by_value(value) == NULL ? TSLAB_STALE : TSLAB_CLOSED;
}

/* Whether the word, of this generation and OPEN, can count one hold more. */
static bool epoch_has_room(uint64_t word, uint64_t value)
{
    return epoch_same_generation(word, value) && epoch_word_state(word) == EPOCH_OPEN &&
           epoch_word_held(word) < EPOCH_HELD_MOST;
}

/* One more place in an epoch: all others are held. NULL: no memory, or it is closed. What is linked and not counted
 * stays TAKEN, and nobody's, until the record is FREE: it is not unlinked before, for who closes may be walking by. */
static struct hold *hold_make(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    gate_lock(thread);
    lock_acquire(&epoch->lock);
    uint64_t word = load_seq_cst(&epoch->word);
    struct hold *hold = epoch_has_room(word, value) ? epoch_link_hold(epoch) : NULL;
    while (hold != NULL && !cas_seq_cst(&epoch->word, &word, word + EPOCH_HELD_ONE)) {
        hold = epoch_has_room(word, value) ? hold : NULL;
    }
    if (hold != NULL) {
        store_seq_cst(&hold->holder, thread);
    }
    lock_release(&epoch->lock);
    gate_unlock(thread);
    return hold;
}

/* Claims an idle hold between two of the epoch; NULL: there is none. */
static struct hold *hold_claim_between(struct thread *thread, struct hold *from, const struct hold *end)
{
    for (struct hold *hold = from; hold != end && hold != NULL; hold = hold_next(hold)) {
        if (hold_claim(hold, thread)) {
            return hold;
        }
    }
    return NULL;
}

/* Another hold than the one that the thread remembers, and remembers that. It looks behind the old one first, so that
 * threads that meet in an epoch part. One that is TAKEN may be linked no more. NULL: no memory, or it is closed. */
static noinline struct hold *hold_find(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    struct hold **const remembered = &thread->remembered[epoch->id % REMEMBERED_HOLDS];
    struct hold *const old = *remembered;
    const bool known = old->epoch == epoch && load_relaxed(&old->holder) != HOLD_TAKEN;
    struct hold *const behind = known ? hold_next(old) : NULL;
    struct hold *hold = hold_claim_between(thread, behind, NULL);
    if (hold == NULL) {
        hold = hold_claim_between(thread, epoch_first_hold(epoch), behind);
    }
    if (hold == NULL) {
        hold = hold_make(thread, epoch, value);
    }
    if (hold != NULL) {
        *remembered = hold;
    }
    return hold;
}

/* A run of the epoch is empty and the caller's. */
static void recycle_chunk(struct epoch *epoch, uint32_t first)
{
    arena_untag(first, CHUNK_UNITS);
    epoch_drop_chunk(epoch);
    epoch_recycle_run(epoch, first);
}

/* The hold's chunk has objects that are alive: it waits for their frees. */
static void hold_seal_chunk(struct epoch *epoch, struct cursor *cursor)
{
    const uint32_t first = (uint32_t)arena_unit(cursor_start(cursor));
    epoch_link_run(epoch, first);
    if (chunk_seal(cursor)) {
        recycle_chunk(epoch, first);
    }
}

/* Gives back all that a hold keeps, but for an empty chunk, and what is about to be released. The hold is TAKEN. */
static void hold_empty(struct epoch *epoch, struct hold *hold)
{
    if (hold->heap != NULL) {
        heap_unretire(hold->heap);
        heap_empty(hold->heap);
        heap_delist(hold->heap);
    }
    if (cursor_start(&hold->cursor) == NULL || epoch_is_doomed(epoch)) {
        return;
    }
    if (chunk_is_empty(&hold->cursor)) {
        chunk_reset(&hold->cursor);
    } else {
        hold_seal_chunk(epoch, &hold->cursor);
    }
}

/* Takes and empties all holds that nobody is in; returns how many. */
static uint64_t epoch_empty_idle_holds(struct epoch *epoch)
{
    uint64_t n = 0;
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        if (hold_claim_to_close(hold)) {
            hold_empty(epoch, hold);
            n++;
        }
    }
    return n;
}

/* Makes a hold idle. True: the epoch is closed, and the caller should look for idle holds in it. */
static bool hold_make_idle(struct hold *hold)
{
    const struct epoch *const epoch = hold->epoch;
    (void)exchange_seq_cst(&hold->holder, HOLD_IDLE);
    return epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_CLOSED;
}

static void help_close(struct thread *thread, struct epoch *epoch);

/* Finishing. */

/* Nothing pins the record but its being open: it is FREE without waiting for anybody, and may stay warm. */
static void retire_at_once(struct thread *thread, struct epoch *epoch)
{
    struct epoch *owner = load_plain(&epoch->owner);
    const bool reclaims = load_plain(&epoch->reclaims) != 0;
    const bool keep = thread->warm_count < WARM_EPOCHS && !reclaims;
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        if (!keep || hold != &epoch->first) {
            hold_drop_chunk(hold);
        }
    }
    epoch_unlink_holds(epoch);
    const uint64_t word = load_plain(&epoch->word);
    store_release(&epoch->word, epoch_generation(word) | EPOCH_FREE);
    if (keep) {
        counter_add(&thread->counters.epochs_drained, load_plain(&epoch->drains));
        store_plain(&epoch->drains, 0);
        epoch->next_idle = thread->warm;
        thread->warm = epoch;
        thread->warm_count++;
    } else {
        epoch_put_record(epoch);
        if (!reclaims) {
            reclaim_tick();
        }
    }
    if (owner != NULL) {
        epoch_unpin(owner);
    }
}

/* The record is pinned no more by its finisher. */
static void drain_or_retire(struct thread *thread, struct epoch *epoch)
{
    uint32_t pins = 1;
    if (cas_seq_cst(&epoch->pins, &pins, 0)) {
        retire_at_once(thread, epoch);
        return;
    }
    if (load_plain(&epoch->closed_ms) == 0) {
        store_plain(&epoch->closed_ms, os_now_ms());
    }
    store_plain(&epoch->drains, load_plain(&epoch->owner) == NULL);
    const uint64_t word = load_plain(&epoch->word);
    store_seq_cst(&epoch->word, epoch_word_with(word, EPOCH_DRAINING));
    epoch_unpin(epoch);
}

/* Finishing an epoch closes the one that serves its handles, which has none of its own: two deep at most. */
/* NOLINTBEGIN(misc-no-recursion) */

static int close_in_gate(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

/* Closes the epoch that serves the handles of one that is closed; false: there is none. */
static bool close_handles(struct thread *thread, struct epoch *epoch, struct tslab_epoch_report *report)
{
    struct epoch *handles = epoch_serving(epoch);
    if (handles == NULL) {
        return false;
    }
    const uint32_t policy = load_plain(&epoch->policy);
    store_plain(&handles->policy,
                policy == TSLAB_POLICY_REPORT ? TSLAB_POLICY_DRAIN : policy); /* one line, which the epoch says */
    return close_in_gate(thread, epoch_value(handles), false, report) >= 0;
}

static void add_report(struct tslab_epoch_report *report, const struct tslab_epoch_report *part)
{
    report->survivors += part->survivors;
    report->survivor_bytes += part->survivor_bytes;
    report->recycled_bytes += part->recycled_bytes;
}

/* What was not recycled when it emptied is now (uncounted: only a build of the lab's has recycling wait for close). */
static void recycle_at_last(struct epoch *epoch)
{
    enum { AT_ONCE = 64 };
    struct run *empty[AT_ONCE];
    unsigned n;
    do {
        n = 0;
        lock_acquire(&epoch->lock);
        for (uint32_t run = epoch->runs; run != 0 && n < AT_ONCE; run = arena.runs[run].of_epoch.next) {
            const unsigned class = word_class(load_plain(&arena.runs[run].word));
            if (class != CLASS_NONE && slab_has_all(&arena.runs[run], &class_geometry[class])) {
                empty[n++] = &arena.runs[run];
            }
        }
        lock_release(&epoch->lock);
        for (unsigned i = 0; i < n; i++) {
            partial_evaluate(empty[i]);
        }
    } while (n == AT_ONCE);
}

/* All holds are empty: treats the survivors. Whoever brought the count to 0. */
static void epoch_finish(struct thread *thread, struct epoch *epoch, struct tslab_epoch_report *report)
{
    const uint64_t word = load_plain(&epoch->word);
    store_release(&epoch->word, epoch_word_with(word, EPOCH_FINISHING));
    const bool reclaims = load_plain(&epoch->reclaims) != 0;
    const bool doomed = epoch_is_doomed(epoch);
    struct tslab_epoch_report of_handles;
    const bool says = load_plain(&epoch->policy) == TSLAB_POLICY_REPORT;
    const bool has_handles = close_handles(thread, epoch, report == NULL && !says ? NULL : &of_handles);
    if (report != NULL || says) {
        struct survivors tally;
        survivors_count(epoch, &tally);
        struct survivors all = tally;
        if (has_handles) {
            all.objects += of_handles.survivors;
            all.bytes += of_handles.survivor_bytes;
        }
        if (says && all.objects > 0) {
            invariant(thread->line != NULL && thread->line->length == 0);
            survivors_describe(epoch, &all, thread->line);
        }
        if (report != NULL) {
            report->survivors = tally.objects;
            report->survivor_bytes = tally.bytes;
        }
    }
    if (doomed) {
        survivors_end(epoch);
    } else if (TSLAB_DEFERRED) {
        recycle_at_last(epoch);
    }
    if (report != NULL) {
        /* What it had when closing began, less what its survivors keep. */
        const uint64_t kept = survivors_kept_bytes(epoch);
        report->recycled_bytes = report->recycled_bytes > kept ? report->recycled_bytes - kept : 0;
        if (has_handles) {
            add_report(report, &of_handles);
        }
    }
    drain_or_retire(thread, epoch);
    if (reclaims) {
        scope_flush(thread);
        const size_t bytes = reclaim_all();
        if (report != NULL) {
            report->reclaimed_bytes = bytes;
            /* Unless the system did not tell, before or now. */
            const int64_t resident = (int64_t)os_resident_bytes();
            const bool known = report->rss_change_bytes != 0 && resident != 0;
            report->rss_change_bytes = known ? report->rss_change_bytes + resident : 0;
        }
    }
}

/* So many holds, or shares of who closes, are empty. True: the epoch is finished. */
static bool drop_held(struct thread *thread, struct epoch *epoch, uint64_t n, struct tslab_epoch_report *report)
{
    const uint64_t old = fetch_sub_seq_cst(&epoch->word, n << EPOCH_HELD_SHIFT);
    if (epoch_word_held(old) != n || epoch_word_state(old) != EPOCH_CLOSED) {
        return false;
    }
    epoch_finish(thread, epoch, report);
    return true;
}

/* Empties what is idle in a closed epoch. In the gate. */
static void help_close(struct thread *thread, struct epoch *epoch)
{
    const uint64_t n = epoch_empty_idle_holds(epoch);
    if (n > 0) {
        (void)drop_held(thread, epoch, n, NULL);
    }
}

/* Verbs. */

/* A record that the thread kept warm; NULL: none. */
static struct epoch *take_warm(struct thread *thread)
{
    struct epoch *epoch = thread->warm;
    if (epoch != NULL) {
        thread->warm = epoch->next_idle;
        thread->warm_count--;
    }
    return epoch;
}

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
    struct epoch *epoch = take_warm(thread);
    if (epoch == NULL) {
        gate_lock(thread);
        epoch = epoch_take_record();
        gate_unlock(thread);
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
    gate_lock(thread);
    struct epoch *made = take_warm(thread);
    if (made == NULL) {
        made = epoch_take_record();
    }
    if (made != NULL) {
        const uint64_t value = open_record(made, &options);
        (void)fetch_add_relaxed(&owner->pins, 1);
        if (!cas_seq_cst(&owner->handles, &there, made)) {
            (void)close_in_gate(thread, value, false, NULL); /* another thread was first */
            made = there;
        }
    }
    gate_unlock(thread);
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
        hold->heap->thread = thread;
    }
    return hold;
}

struct hold *scope_borrow(struct thread *thread, uint64_t value, int *status)
{
    return hold_borrow(thread, value, status);
}

static noinline void help_close_outside(struct thread *thread, struct epoch *epoch)
{
    struct survivors_line line;
    verb_begin(thread, &line);
    help_close(thread, epoch);
    verb_end(thread);
}

void scope_return(struct thread *thread, struct hold *hold)
{
    if (unlikely(hold_make_idle(hold))) {
        help_close_outside(thread, hold->epoch);
    }
}

/* Points the thread's plain malloc to where it lands now. */
always_inline void ambient_set_here(struct thread *thread)
{
    struct hold *const scope = thread->scope;
    struct hold *const ambient = scope == NULL || thread->paused != 0 ? NULL : scope->ambient;
    struct heap *heap = &thread->heap;
    if (ambient != NULL && ambient->heap != NULL) {
        heap = ambient->heap;
    } else if (ambient != NULL) {
        heap = &thread->scope_heap;
        heap->filling = ambient;
    }
    heap->innermost = scope == NULL ? &hold_none : scope->real;
    heap_current = heap;
}

/* The same, where few come by. */
static noinline void ambient_set(struct thread *thread)
{
    ambient_set_here(thread);
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
    gate_lock(thread);
    echo = meta_alloc(sizeof *echo);
    gate_unlock(thread);
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
    return plain && scope_malloc_is_ours ? TSLAB_OK : TSLAB_EXPLICIT;
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

struct epoch *instance_epoch(uint64_t value)
{
    struct epoch *epoch = epoch_by_value(value);
    return epoch != NULL && load_plain(&epoch->is_instance) != 0 ? epoch : NULL;
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

/* Until it is finished, its survivors are what is alive now, recycled_bytes is all the memory of the epoch, and what is
 * resident counts as gone. */
static void begin_report(struct epoch *epoch, bool reclaims, struct tslab_epoch_report *report)
{
    struct survivors tally;
    survivors_count(epoch, &tally);
    memset(report, 0, sizeof *report);
    report->survivors = tally.objects;
    report->survivor_bytes = tally.bytes;
    report->rss_change_bytes = reclaims ? -(int64_t)os_resident_bytes() : 0;
    report->recycled_bytes = tally.memory_bytes;
    report->age_ms = os_ms_since(load_plain(&epoch->opened_ms));
}

/* Nobody is inside of an open epoch: takes all its holds, links them by `outer` in *taken_holds, and makes it FINISHING
 * at one stroke. False: somebody is inside, or it is not open (any more), and nothing has changed. */
static bool take_all(struct thread *thread, struct epoch *epoch, uint64_t value, struct hold **taken_holds)
{
    struct hold *all = NULL;
    uint64_t taken = 0;
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        if (hold_claim_to_close(hold)) {
            hold->outer = all;
            all = hold;
            taken++;
        }
    }
    uint64_t word = load_seq_cst(&epoch->word);
    if (epoch_same_generation(word, value) && epoch_word_state(word) == EPOCH_OPEN &&
        epoch_word_held(word) == taken + 1 &&
        cas_seq_cst(&epoch->word, &word, epoch_generation(word) | EPOCH_FINISHING)) {
        *taken_holds = all;
        return true;
    }
    while (all != NULL) {
        struct hold *hold = all;
        all = hold->outer;
        if (hold_make_idle(hold)) {
            help_close(thread, epoch);
        }
    }
    return false;
}

/* The epoch is FINISHING, with these holds. */
static void epoch_finish_with(struct thread *thread, struct epoch *epoch, struct hold *all, bool reclaims,
                              struct tslab_epoch_report *report)
{
    count_closed(thread, epoch);
    store_plain(&epoch->reclaims, reclaims);
    for (struct hold *hold = all; hold != NULL; hold = hold->outer) {
        hold_empty(epoch, hold);
    }
    epoch_finish(thread, epoch, report);
}

/* Changes an OPEN epoch's word to CLOSED. */
static int mark_closed(struct epoch *epoch, uint64_t value, bool reclaims)
{
    uint64_t word = load_seq_cst(&epoch->word);
    do {
        if (!epoch_same_generation(word, value)) {
            return TSLAB_STALE;
        }
        if (epoch_word_state(word) != EPOCH_OPEN) {
            return epoch_word_state(word) == EPOCH_FREE ? TSLAB_STALE : TSLAB_CLOSED;
        }
    } while (!cas_seq_cst(&epoch->word, &word, epoch_word_with(word, EPOCH_CLOSED)));
    /* Nobody finishes it before we drop our share. */
    store_plain(&epoch->reclaims, reclaims);
    return TSLAB_OK;
}

/* The closing thread itself is inside: it gets nothing more from what it holds, and its plain malloc lands in the
 * process. */
static void freeze_own_holds(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    if (thread->scope == NULL) {
        return;
    }
    for (struct hold *hold = thread->scope; hold != NULL; hold = hold->outer) {
        if (hold->ambient != NULL && hold->ambient->epoch == epoch && hold->ambient->value == value) {
            hold->ambient = NULL;
        }
        if (hold->epoch == epoch && hold->value == value) {
            chunk_freeze(&hold->cursor);
            if (hold->heap != NULL) {
                heap_empty(hold->heap);
            }
        }
    }
    ambient_set(thread);
}

/* The epoch is CLOSED by the caller, who was the first: empties what is idle. */
static int end_close(struct thread *thread, struct epoch *epoch, struct tslab_epoch_report *report)
{
    const uint64_t n = epoch_empty_idle_holds(epoch) + 1;
    if (epoch_word_held(load_plain(&epoch->word)) != n) {
        store_plain(&epoch->closed_ms, os_now_ms()); /* it may take a while */
    }
    if (drop_held(thread, epoch, n, report)) {
        return TSLAB_OK;
    }
    if (report != NULL) {
        report->recycled_bytes = 0; /* so far */
        report->rss_change_bytes = 0;
    }
    return TSLAB_PENDING;
}

static int close_in_gate(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    struct epoch *epoch = epoch_by_value(value);
    if (epoch == NULL || !epoch_is_open_as(epoch, value)) {
        return epoch_refusal(value);
    }
    if (report != NULL) {
        begin_report(epoch, reclaims, report);
    }
    struct hold *all;
    if (likely(take_all(thread, epoch, value, &all))) {
        epoch_finish_with(thread, epoch, all, reclaims, report);
        return TSLAB_OK;
    }
    const int status = mark_closed(epoch, value, reclaims);
    if (status != TSLAB_OK) {
        return status;
    }
    count_closed(thread, epoch);
    freeze_own_holds(thread, epoch, value);
    return end_close(thread, epoch, report);
}

int scope_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    struct survivors_line line;
    verb_begin(thread, &line);
    const int status = close_in_gate(thread, value, reclaims, report);
    verb_end(thread);
    return status;
}

static int release_in_gate(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

/* An epoch that drains: nobody is inside, and what is in it is to end now. */
static int release_draining(struct thread *thread, struct epoch *epoch, uint64_t word, bool reclaims,
                            struct tslab_epoch_report *report)
{
    uint32_t pins = load_relaxed(&epoch->pins);
    do {
        if (pins == 0) {
            return TSLAB_STALE; /* its last object has just died */
        }
    } while (!cas_seq_cst(&epoch->pins, &pins, pins + 1));
    if (!cas_seq_cst(&epoch->word, &word, epoch_word_with(word, EPOCH_FINISHING))) {
        epoch_unpin(epoch);
        return TSLAB_BUSY;
    }
    store_plain(&epoch->reclaims, reclaims);
    if (load_plain(&epoch->policy) != TSLAB_POLICY_TRAP) {
        store_plain(&epoch->policy, TSLAB_POLICY_RELEASE);
    }
    struct tslab_epoch_report of_handles;
    struct epoch *handles = epoch_serving(epoch);
    const bool has_handles = handles != NULL && release_in_gate(thread, epoch_value(handles), false,
                                                                report == NULL ? NULL : &of_handles) >= 0;
    if (report != NULL) {
        begin_report(epoch, reclaims, report);
    }
    epoch_finish(thread, epoch, report);
    if (report != NULL && has_handles) {
        add_report(report, &of_handles);
    }
    return TSLAB_OK;
}

static int release_in_gate(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    struct epoch *epoch = epoch_by_value(value);
    if (epoch == NULL) {
        return TSLAB_STALE;
    }
    const uint64_t word = load_seq_cst(&epoch->word);
    if (epoch_word_state(word) == EPOCH_DRAINING) {
        return release_draining(thread, epoch, word, reclaims, report);
    }
    if (epoch_word_state(word) != EPOCH_OPEN) {
        return TSLAB_BUSY;
    }
    if (report != NULL) {
        begin_report(epoch, reclaims, report);
    }
    struct hold *all;
    if (!take_all(thread, epoch, value, &all)) {
        return TSLAB_BUSY;
    }
    if (load_plain(&epoch->policy) != TSLAB_POLICY_TRAP) {
        store_plain(&epoch->policy, TSLAB_POLICY_RELEASE);
    }
    epoch_finish_with(thread, epoch, all, reclaims, report);
    return TSLAB_OK;
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
        const int status = scope_close(thread, *value, reclaims, report);
        if (status < 0) {
            (void)scope_close(thread, next, false, NULL);
        } else {
            *value = next;
        }
        return status;
    }
    /* Before the gate: who comes late to help with a close of the record's earlier life may take the only hold of the
     * next one, and then another is made. */
    struct hold *const hold = thread->scope;
    if (scope_enter(thread, next) < 0) {
        (void)scope_close(thread, next, false, NULL);
        return TSLAB_NO_MEMORY;
    }
    const bool leaves = hold->nested == 0;
    if (leaves) {
        return_serving(thread, hold);
    }
    /* Whoever marks it first closes it, and another who tries has changed nothing. */
    struct survivors_line line;
    verb_begin(thread, &line);
    if (report != NULL) {
        begin_report(epoch, reclaims, report);
    }
    int status = mark_closed(epoch, *value, reclaims);
    if (status == TSLAB_OK) {
        count_closed(thread, epoch);
        /* The scope that was innermost is replaced by the next one's; the thread may be inside of the old one further
         * out. */
        if (leaves) {
            thread->scope->outer = hold->outer;
            (void)hold_make_idle(hold); /* we look ourselves */
        } else if (scope_leave_again(hold)) {
            thread->scope->outer = hold->outer;
            put_echo(thread, hold);
        }
        freeze_own_holds(thread, epoch, *value);
        status = end_close(thread, epoch, report);
    }
    verb_end(thread);
    if (status < 0) {
        scope_leave_innermost(thread);
        (void)scope_close(thread, next, false, NULL);
        return status;
    }
    *value = next;
    return status;
}

int scope_release(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    struct survivors_line line;
    verb_begin(thread, &line);
    const int status = release_in_gate(thread, value, reclaims, report);
    verb_end(thread);
    return status;
}

/* NOLINTEND(misc-no-recursion) */

/* Allocating. */

/* The hold goes over to slabs. False: no memory; it goes on with chunks. */
static bool hold_begin_slabs(struct thread *thread, struct hold *hold)
{
    if (!partial_lists_need(hold->epoch)) {
        return false;
    }
    struct heap *heap = load_plain(&hold->kept_heap);
    if (heap == NULL) {
        heap = heap_make(hold->epoch);
        store_release(&hold->kept_heap, heap);
    }
    if (heap == NULL) {
        return false;
    }
    heap_retag(heap);
    heap->thread = thread;
    hold->heap = heap;
    heap_enlist(heap);
    /* A borrowed record is inside of nothing, and its heap is not the thread's. */
    if (thread->scope != NULL) {
        ambient_set(thread);
    }
    return true;
}

/* Counts what a hold used up, as far as it matters. */
static void hold_count_filled(struct hold *hold, size_t bytes)
{
    const size_t kib = hold->filled_kib + bytes / 1024;
    hold->filled_kib = (uint32_t)min_size(kib, SLABS_FROM_BYTES / 1024);
}

/* The hold's chunk is full: another one, or slabs from now on. False: no memory, or the epoch is closed. */
static bool hold_renew_chunk(struct thread *thread, struct hold *hold)
{
    struct cursor *cursor = &hold->cursor;
    if (!epoch_is_open_as(hold->epoch, hold->value)) {
        return false;
    }
    if (cursor_start(cursor) != NULL) {
        hold_count_filled(hold, CHUNK_BYTES);
        if (chunk_is_empty(cursor)) {
            chunk_reset(cursor);
            return true;
        }
        hold_seal_chunk(hold->epoch, cursor);
    }
    if (hold->filled_kib >= SLABS_FROM_BYTES / 1024 && hold_begin_slabs(thread, hold)) {
        return true;
    }
    bool clean;
    const uint32_t first = reclaim_take(CHUNK_UNITS, 1, &clean);
    if (first != 0) {
        chunk_open(cursor, first, hold->epoch->id);
        epoch_add_chunk(hold->epoch);
    }
    return first != 0;
}

static void *alloc_from_chunk(struct hold *hold, size_t size, size_t alignment)
{
    return alignment <= GRANULE_BYTES ? chunk_alloc(&hold->cursor, size)
                                      : chunk_alloc_aligned(&hold->cursor, size, alignment);
}

static void *alloc_from_slab(struct hold *hold, size_t size, size_t alignment)
{
    const unsigned class = class_of_aligned(size, alignment);
    if (class == CLASS_NONE) {
        return NULL;
    }
    struct magazine *m = &hold->heap->magazine[class];
    void *head = magazine_head(m);
    if (head != NULL) {
        return magazine_pop(m, head);
    }
    void *p = heap_alloc_claimed(hold->heap, class);
    return p != NULL ? p : heap_alloc_slow(hold->heap, class);
}

void *scope_alloc_slot(struct thread *thread, struct hold *hold, size_t size, size_t alignment)
{
    if (hold->heap == NULL) {
        gate_lock(thread);
        const bool begun = hold_begin_slabs(thread, hold);
        gate_unlock(thread);
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
    gate_lock(thread);
    void *p = large_alloc_in(hold->epoch->id, max_size(size, 1), alignment, zero);
    if (p != NULL) {
        epoch_link_run(hold->epoch, (uint32_t)arena_unit(p));
        hold_count_filled(hold, size);
    }
    gate_unlock(thread);
    return p;
}

noinline void *scope_alloc(struct thread *thread, struct hold *hold, size_t size, size_t alignment, bool *zero)
{
    *zero = false;
    if (hold->heap != NULL && !epoch_is_open(hold->epoch)) {
        return NULL;
    }
    if (hold->heap == NULL && size <= CHUNK_OBJECT_MOST && alignment <= CHUNK_ALIGN_MOST) {
        void *p = alloc_from_chunk(hold, size, alignment);
        if (p != NULL) {
            return p;
        }
        gate_lock(thread);
        const bool renewed = hold_renew_chunk(thread, hold);
        gate_unlock(thread);
        if (!renewed) {
            return NULL;
        }
        if (hold->heap == NULL) {
            return alloc_from_chunk(hold, size, alignment);
        }
    }
    if (hold->heap != NULL && size <= SMALL_MAX && class_of_aligned(size, alignment) != CLASS_NONE) {
        return alloc_from_slab(hold, size, alignment);
    }
    return alloc_run(thread, hold, size, alignment, zero);
}

void *scope_alloc_in(struct thread *thread, uint64_t value, size_t size, size_t alignment, bool *zero, int *status)
{
    struct hold *const inside = scope_inside(thread, value);
    struct hold *hold = inside != NULL ? inside : scope_borrow(thread, value, status);
    if (hold == NULL) {
        return NULL;
    }
    void *p = scope_alloc(thread, hold, size, alignment, zero);
    *status = p != NULL || epoch_is_open_as(hold->epoch, value) ? TSLAB_NO_MEMORY : TSLAB_CLOSED; /* maybe just now */
    if (inside == NULL) {
        scope_return(thread, hold);
    }
    return p;
}

/* Freeing. */

void scope_free_chunk(struct thread *thread, void *p)
{
    const uint32_t first = arena.units[arena_unit(p)].first;
    /* Fork may cut us between the two writes: its child counts the noted chunk anew. */
    store_relaxed(&thread->noted, first);
    if (chunk_free_other(p)) {
        const int saved = errno;
        gate_lock(thread);
        recycle_chunk(epoch_existing(word_epoch(load_plain(&arena.runs[first].word))), first);
        reclaim_tick();
        gate_unlock(thread);
        errno = saved;
    }
}

void scope_free_run(struct thread *thread, struct epoch *epoch, void *p)
{
    const uint32_t first = (uint32_t)arena_unit(p);
    gate_lock(thread);
    arena_untag(first, 1);
    epoch_unlink_run(epoch, first);
    large_retire(first, arena.runs[first].units);
    epoch_unpin(epoch);
    reclaim_tick();
    gate_unlock(thread);
}

bool scope_resize_run(struct epoch *epoch, void *p, size_t size)
{
    /* Reports look at how long it is. */
    lock_acquire(&epoch->lock);
    const bool resized = large_resize(p, size);
    lock_release(&epoch->lock);
    return resized;
}

/* Threads. */

void scope_flush(struct thread *thread)
{
    while (thread->warm != NULL) {
        struct epoch *epoch = thread->warm;
        thread->warm = epoch->next_idle;
        hold_drop_chunk(&epoch->first);
        epoch_put_record(epoch);
    }
    thread->warm_count = 0;
}

void scope_leave_all(struct thread *thread)
{
    thread->paused = 0;
    while (thread->scope != NULL) {
        scope_leave_innermost(thread);
    }
}

/* The child of a fork has one thread. A hold of a thread that it does not have becomes idle, its chunk counted anew; so
 * is a chunk in which such a thread was about to free. */

enum { COUNT_ANEW = UINT32_MAX };

static void recount_noted(const struct thread *thread)
{
    const uint32_t noted = load_plain(&thread->noted);
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
        recycle_chunk(epoch_existing(word_epoch(load_plain(&chunk->word))), noted);
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

struct epoch *scope_fork_child(struct thread *self)
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
            thread->heap.innermost = &hold_none;
        }
        thread->warm = NULL;
        thread->warm_count = 0;
    }
    epoch_fork_child();
    return closed;
}

void scope_fork_close(struct thread *self, struct epoch *closed)
{
    while (closed != NULL) {
        struct epoch *const epoch = closed;
        closed = epoch->next_idle;
        help_close_outside(self, epoch);
    }
}
