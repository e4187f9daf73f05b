/* A close is a fast way, which takes all holds and finishes with one compare-and-swap, and a slow way in steps: mark
 * the word, freeze the own holds, empty the idle ones, drop the share. Both lead to finish_epoch. */
#include "epoch/ending.h"

#include "common/trace.h"
#include "epoch/hold.h"
#include "epoch/survivors.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/handle_table.h"
#include "slab/holes.h"
#include "slab/partial_list.h"
#include "space/reclaim.h"
#include "thread/upkeep.h"

#include <string.h>

void ending_unlock_gate(struct thread *thread)
{
    invariant(thread->gate.is_inside);
    if (likely(thread->line.objects == 0)) {
        gate_unlock(&thread->gate);
        return;
    }
    const struct survivors_line line = thread->line;
    thread->line.objects = 0;
    gate_unlock(&thread->gate);
    survivors_say(&line);
}

/* Counts in the thread's record that it has closed an epoch of a user. */
static void count_close(struct thread *thread, const struct epoch *epoch)
{
    invariant(epoch_word_state(load_plain(&epoch->word)) != EPOCH_OPEN);
    trace_epoch_close(epoch_value(epoch));
    counter_add(&thread->counters.epochs_closed, 1);
}

/* Retires a finished record that has no linked run. It becomes FREE at once, and the closing thread may keep it warm.
 */
static void retire_at_once(struct thread *thread, struct epoch *epoch)
{
    invariant(thread->gate.is_inside && load_plain(&epoch->pins) == 0 && epoch->runs == 0);
    const bool reclaims = load_plain(&epoch->reclaims) != 0;
    const bool keep = !reclaims && (thread_has_room_for_warm(thread) || thread_pass_warm(thread));
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        if (!keep || hold != &epoch->first) {
            hold_drop_chunk(hold);
        }
    }
    epoch_unlink_holds(epoch);
    handle_table_drop(&epoch->handles);
    const uint64_t word = load_plain(&epoch->word);
    invariant(epoch_word_state(word) == EPOCH_FINISHING);
    trace_epoch_end(epoch_generation(word) | epoch->id);
    store_release(&epoch->word, epoch_generation(word) | EPOCH_FREE);
    if (keep) {
        counter_add(&thread->counters.epochs_drained, load_plain(&epoch->drains));
        store_plain(&epoch->drains, 0);
        thread_keep_warm(thread, epoch);
    } else {
        epoch_put_record(epoch);
        if (!reclaims) {
            upkeep(&thread->heap);
        }
    }
}

/* Drops the pin that the record has had since it was opened. If that is the last one, the record retires, else it
 * drains. */
static void drain_or_retire(struct thread *thread, struct epoch *epoch)
{
    uint32_t pins = 1;
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FINISHING && load_plain(&epoch->pins) != 0);
    if (cas_seq_cst(&epoch->pins, &pins, 0)) {
        retire_at_once(thread, epoch);
        return;
    }
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        hold_drop_chunk(hold);
    }
    if (load_plain(&epoch->closed_ms) == 0) {
        store_plain(&epoch->closed_ms, os_now_ms());
    }
    store_plain(&epoch->drains, 1);
    const uint64_t word = load_plain(&epoch->word);
    store_seq_cst(&epoch->word, epoch_word_with(word, EPOCH_DRAINING));
    epoch_unpin(epoch);
}

/* Counts the survivors, notes the line about them, and ends them, as the policy says. */
static void treat_survivors(struct thread *thread, struct epoch *epoch, struct tslab_epoch_report *report)
{
    const bool says = load_plain(&epoch->policy) == TSLAB_POLICY_REPORT;
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FINISHING);
    if (report != NULL || says) {
        struct survivors tally;
        survivors_count(epoch, &tally);
        if (says) {
            invariant(thread->gate.is_inside && thread->line.objects == 0);
            thread->line = (struct survivors_line){ epoch_value(epoch), tally.objects, tally.bytes, "" };
            (void)epoch_label(epoch, thread->line.label);
        }
        if (report != NULL) {
            report->survivors = tally.objects;
            report->survivor_bytes = tally.bytes;
        }
    }
    if (epoch_is_doomed(epoch)) {
        handle_table_drop(&epoch->handles);
        survivors_end(epoch);
    }
}

/* Finishes an epoch whose holds are all empty. By the thread that brought the count to 0. */
static void finish_epoch(struct thread *thread, struct epoch *epoch, struct tslab_epoch_report *report)
{
    const uint64_t word = load_plain(&epoch->word);
    invariant(thread->gate.is_inside && epoch_word_held(word) == 0 && epoch_threads_inside(epoch) == 0);
    invariant(epoch_word_state(word) == EPOCH_CLOSED || epoch_word_state(word) == EPOCH_FINISHING);
    store_release(&epoch->word, epoch_word_with(word, EPOCH_FINISHING));
    const bool reclaims = load_plain(&epoch->reclaims) != 0;
    const bool looks = report != NULL || load_plain(&epoch->policy) == TSLAB_POLICY_REPORT || epoch_is_doomed(epoch);
    /* A purger of free pages holds slabs attached, and takes slots that would count as survivors. */
    const bool has_runs = load_plain(&epoch->pins) > 1, keeps_out = looks && has_runs;
    if (keeps_out) {
        holes_keep_out();
    }
    treat_survivors(thread, epoch, report);
    if (keeps_out) {
        holes_let_in();
    }
    if (report != NULL) {
        /* The memory that the epoch had when closing began, less the memory that its survivors keep. */
        const uint64_t kept = (uint64_t)counter_get(&epoch->run_units) << UNIT_SHIFT;
        report->recycled_bytes = report->recycled_bytes > kept ? report->recycled_bytes - kept : 0;
    }
    const size_t holes = reclaims && has_runs ? holes_purge_epoch(epoch) : 0;
    drain_or_retire(thread, epoch);
    if (reclaims) {
        thread_flush_warm(thread);
        epoch_flush_shared_warm();
        const size_t bytes = holes + reclaim_all();
        if (report != NULL) {
            report->reclaimed_bytes = bytes;
            /* Resident bytes of 0 mean that the system did not tell. */
            const int64_t resident = (int64_t)os_resident_bytes();
            const bool known = report->rss_change_bytes != 0 && resident != 0;
            report->rss_change_bytes = known ? report->rss_change_bytes + resident : 0;
        }
    }
}

/* Subtracts n emptied holds, and the closing thread's own share, from the count. True: this finished the epoch. */
static bool drop_held(struct thread *thread, struct epoch *epoch, uint64_t n, struct tslab_epoch_report *report)
{
    const uint64_t old = fetch_sub_seq_cst(&epoch->word, n << EPOCH_HELD_SHIFT);
    invariant(n != 0 && epoch_word_held(old) >= n);
    if (epoch_word_held(old) != n || epoch_word_state(old) != EPOCH_CLOSED) {
        return false;
    }
    finish_epoch(thread, epoch, report);
    return true;
}

void ending_help_in_gate(struct thread *thread, struct epoch *epoch)
{
    invariant(thread->gate.is_inside);
    const uint64_t n = hold_empty_idle(thread, epoch);
    if (n > 0) {
        (void)drop_held(thread, epoch, n, NULL);
    }
}

noinline void ending_help(struct thread *thread, struct epoch *epoch)
{
    gate_lock(&thread->gate);
    ending_help_in_gate(thread, epoch);
    ending_unlock_gate(thread);
}

void ending_begin_report(struct epoch *epoch, bool reclaims, struct tslab_epoch_report *report)
{
    struct survivors tally;
    survivors_count(epoch, &tally);
    memset(report, 0, sizeof *report);
    report->survivors = tally.objects;
    report->survivor_bytes = tally.bytes;
    report->rss_change_bytes = reclaims ? -(int64_t)os_resident_bytes() : 0;
    report->recycled_bytes = survivors_memory(&tally);
    report->age_ms = os_ms_since(load_plain(&epoch->opened_ms));
}

/* The survivors of a FINISHING epoch are to end. */
static void end_all(struct epoch *epoch)
{
    if (load_plain(&epoch->policy) != TSLAB_POLICY_TRAP) {
        store_plain(&epoch->policy, TSLAB_POLICY_RELEASE);
    }
}

/* One try of take_all. *helps: the epoch is closed, and the caller must look for idle holds in it. */
static bool take_at_once(struct epoch *epoch, uint64_t value, bool releases, struct hold **taken_holds, bool *helps)
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
        if (releases) {
            end_all(epoch);
        }
        return true;
    }
    while (all != NULL) {
        struct hold *hold = all;
        all = hold->outer;
        *helps |= hold_make_idle(hold);
    }
    return false;
}

/* Takes all holds of an open epoch that no thread is inside of, links them by `outer` in *taken_holds, and changes the
 * word to FINISHING. releases: all objects are to end. False: a thread is inside, or the epoch is not open (any more),
 * and nothing has changed. A thread that empties an idle hold has it for a moment, under the lock (hold_put_away). */
static bool take_all(struct thread *thread, struct epoch *epoch, uint64_t value, bool releases,
                     struct hold **taken_holds)
{
    bool helps = false;
    invariant(thread->gate.is_inside);
    if (likely(take_at_once(epoch, value, releases, taken_holds, &helps))) {
        return true;
    }
    lock_acquire(epoch_holds_lock(epoch));
    const bool taken = take_at_once(epoch, value, releases, taken_holds, &helps);
    lock_release(epoch_holds_lock(epoch));
    if (helps) {
        ending_help_in_gate(thread, epoch);
    }
    return taken;
}

/* Empties all holds of a FINISHING epoch, which the caller has taken, and finishes it. */
static void finish_with_holds(struct thread *thread, struct epoch *epoch, struct hold *all, bool reclaims,
                              struct tslab_epoch_report *report)
{
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FINISHING);
    count_close(thread, epoch);
    store_plain(&epoch->reclaims, reclaims);
    for (struct hold *hold = all; hold != NULL; hold = hold->outer) {
        hold_empty(thread, epoch, hold);
    }
    finish_epoch(thread, epoch, report);
}

int ending_mark_closed(struct thread *thread, struct epoch *epoch, uint64_t value, bool reclaims)
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
    /* No thread can finish the epoch before the closing thread drops its share. */
    store_plain(&epoch->reclaims, reclaims);
    count_close(thread, epoch);
    return TSLAB_OK;
}

/* The closing thread gets nothing more from the holds of the epoch that it has itself, and its plain malloc lands
 * outside of the epoch. */
static void freeze_holds(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    if (thread->scope == NULL) {
        return;
    }
    for (struct hold *hold = thread->scope; hold != NULL; hold = hold->outer) {
        if (hold->ambient != NULL && hold->ambient->epoch == epoch && hold->ambient->value == value) {
            hold->ambient = NULL;
        }
        if (hold->epoch == epoch && hold->value == value) {
            invariant(load_plain(&hold->real->holder) == thread);
            chunk_freeze(&hold->cursor);
            if (load_plain(&hold->heap) != NULL) {
                heap_empty(load_plain(&hold->heap));
            }
        }
    }
    ambient_set(thread);
}

int ending_complete(struct thread *thread, struct epoch *epoch, uint64_t value, struct tslab_epoch_report *report)
{
    invariant(thread->gate.is_inside && epoch_word_state(load_plain(&epoch->word)) == EPOCH_CLOSED);
    invariant(epoch_word_held(load_plain(&epoch->word)) != 0);
    freeze_holds(thread, epoch, value);
    const uint64_t n = hold_empty_idle(thread, epoch) + 1;
    if (epoch_word_held(load_plain(&epoch->word)) != n) {
        store_plain(&epoch->closed_ms, os_now_ms()); /* the close may take a while */
    }
    if (drop_held(thread, epoch, n, report)) {
        return TSLAB_OK;
    }
    if (report != NULL) {
        report->recycled_bytes = 0; /* nothing was recycled yet */
        report->rss_change_bytes = 0;
    }
    return TSLAB_PENDING;
}

static int close_in_gate(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    struct epoch *epoch = epoch_by_value(value);
    invariant(thread->gate.is_inside);
    if (epoch == NULL || !epoch_is_open_as(epoch, value)) {
        const int why = epoch_refusal(value);
        invariant(why < 0);
        return why;
    }
    if (report != NULL) {
        ending_begin_report(epoch, reclaims, report);
    }
    struct hold *all;
    if (likely(take_all(thread, epoch, value, false, &all))) {
        finish_with_holds(thread, epoch, all, reclaims, report);
        return TSLAB_OK;
    }
    const int status = ending_mark_closed(thread, epoch, value, reclaims);
    return status == TSLAB_OK ? ending_complete(thread, epoch, value, report) : status;
}

typedef int ending_verb(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report);

always_inline int end_by(ending_verb *verb, struct thread *thread, uint64_t value, bool reclaims,
                         struct tslab_epoch_report *report)
{
    gate_lock(&thread->gate);
    const int status = verb(thread, value, reclaims, report);
    laws_at_moment(MOMENT_CLOSED, thread, value);
    ending_unlock_gate(thread);
    return status;
}

int ending_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    return end_by(close_in_gate, thread, value, reclaims, report);
}

/* Releases an epoch that drains: no thread is inside, and its survivors end now. */
static int release_draining(struct thread *thread, struct epoch *epoch, uint64_t word, bool reclaims,
                            struct tslab_epoch_report *report)
{
    uint32_t pins = load_relaxed(&epoch->pins);
    do {
        if (pins == 0) {
            return TSLAB_STALE; /* the last object has just died */
        }
    } while (!cas_seq_cst(&epoch->pins, &pins, pins + 1));
    if (!cas_seq_cst(&epoch->word, &word, epoch_word_with(word, EPOCH_FINISHING))) {
        epoch_unpin(epoch);
        return TSLAB_BUSY;
    }
    invariant(thread->gate.is_inside && epoch_word_held(word) == 0);
    store_plain(&epoch->reclaims, reclaims);
    end_all(epoch);
    if (report != NULL) {
        ending_begin_report(epoch, reclaims, report);
    }
    finish_epoch(thread, epoch, report);
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
        ending_begin_report(epoch, reclaims, report);
    }
    struct hold *all;
    if (!take_all(thread, epoch, value, true, &all)) {
        return TSLAB_BUSY;
    }
    finish_with_holds(thread, epoch, all, reclaims, report);
    return TSLAB_OK;
}

int ending_release(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    return end_by(release_in_gate, thread, value, reclaims, report);
}

/* Instances. To close one is to release each epoch that names it, and the root last, with one report for all. */

struct epoch *instance_root(uint64_t value)
{
    struct epoch *epoch = epoch_by_value(value);
    return epoch != NULL && load_plain(&epoch->is_instance) != 0 ? epoch : NULL;
}

static void add_report(struct tslab_epoch_report *report, const struct tslab_epoch_report *part)
{
    report->survivors += part->survivors;
    report->survivor_bytes += part->survivor_bytes;
    report->recycled_bytes += part->recycled_bytes;
    report->reclaimed_bytes += part->reclaimed_bytes;
    report->rss_change_bytes += part->rss_change_bytes;
}

/* The value of a record's present epoch if that is a member of the instance; else 0. */
static uint64_t member_value(const struct epoch *epoch, uint64_t instance)
{
    const uint64_t word = load_seq_cst(&epoch->word);
    const bool is_member = epoch_word_state(word) != EPOCH_FREE && load_plain(&epoch->instance) == instance;
    return is_member ? epoch_generation(word) | epoch->id : 0;
}

/* The next record in use. NULL: there are no more, or the instance never had a member. */
static const struct epoch *next_in_use(const struct epoch *root, uint32_t *at)
{
    return counter_get(&root->quota_users) == 0 ? NULL : epoch_next(at);
}

/* A first look whether a thread is inside of any epoch of the instance. Then nothing is released. */
static bool is_busy(const struct epoch *root, uint64_t instance)
{
    bool busy = epoch_threads_inside(root) > 0;
    uint32_t at = 0;
    for (const struct epoch *epoch; !busy && (epoch = next_in_use(root, &at)) != NULL;) {
        busy = member_value(epoch, instance) != 0 && epoch_threads_inside(epoch) > 0;
    }
    return busy;
}

int instance_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    struct epoch *const root = instance_root(value);
    if (root == NULL) {
        return TSLAB_STALE;
    }
    if (is_busy(root, value)) {
        return TSLAB_BUSY;
    }
    struct tslab_epoch_report sum = { 0 };
    uint32_t at = 0;
    for (const struct epoch *epoch; (epoch = next_in_use(root, &at)) != NULL;) {
        const uint64_t member = member_value(epoch, value);
        if (member == 0) {
            continue;
        }
        invariant(member != value); /* an instance is in no other one */
        struct tslab_epoch_report part = { 0 };
        const int status = ending_release(thread, member, reclaims, &part);
        if (status == TSLAB_BUSY || status == TSLAB_NO_MEMORY) {
            return status; /* a thread came in between; the epochs that were released stay so */
        }
        add_report(&sum, &part);
    }
    struct tslab_epoch_report last = { 0 };
    const int status = ending_release(thread, value, reclaims, &last);
    if (report != NULL && status >= 0) {
        *report = last;
        add_report(report, &sum);
    }
    return status;
}
