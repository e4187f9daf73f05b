/* Epochs, as users see them. */
#include <tslab/tslab.h>

#include "api/epochs.h"
#include "api/sized.h"
#include "core/fast.h"
#include "core/handle.h"
#include "core/scope.h"
#include "core/survivors.h"
#include "core/work.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

TSLAB_API const char *tslab_status_text(enum tslab_status status)
{
    switch (status) {
    case TSLAB_OK:
        return "success";
    case TSLAB_EXPLICIT:
        return "entered, but plain malloc does not land there";
    case TSLAB_PENDING:
        return "closed, but a thread is still inside, and the last to leave completes it";
    case TSLAB_STALE:
        return "it does not exist, or not any more";
    case TSLAB_CLOSED:
        return "it is closed";
    case TSLAB_NOT_INSIDE:
        return "it is not what this thread began last";
    case TSLAB_BUSY:
        return "a thread is inside";
    case TSLAB_NO_MEMORY:
        return "out of memory";
    case TSLAB_INVALID:
        return "an argument is invalid";
    }
    return "unknown status";
}

TSLAB_API const char *tslab_status_name(enum tslab_status status)
{
    switch (status) {
    case TSLAB_OK:
        return "TSLAB_OK";
    case TSLAB_EXPLICIT:
        return "TSLAB_EXPLICIT";
    case TSLAB_PENDING:
        return "TSLAB_PENDING";
    case TSLAB_STALE:
        return "TSLAB_STALE";
    case TSLAB_CLOSED:
        return "TSLAB_CLOSED";
    case TSLAB_NOT_INSIDE:
        return "TSLAB_NOT_INSIDE";
    case TSLAB_BUSY:
        return "TSLAB_BUSY";
    case TSLAB_NO_MEMORY:
        return "TSLAB_NO_MEMORY";
    case TSLAB_INVALID:
        return "TSLAB_INVALID";
    }
    return "unknown";
}

/* Epochs that a list describes before it hands them on: they lie on the stack. */
enum { LISTED_AT_ONCE = 8 };

static tslab_epoch fail_epoch(int error)
{
    errno = error;
    return (tslab_epoch){ 0 };
}

/* Whether an epoch can be opened so. */
static bool options_are_valid(const struct tslab_epoch_options *wanted)
{
    if ((wanted->flags & ~(unsigned)TSLAB_OPEN_VOUCHED) != 0) {
        return false;
    }
    if (wanted->parent.id != 0 && (epoch_by_value(wanted->parent.id) == NULL || epoch_is_hidden(wanted->parent.id))) {
        return false;
    }
    if (wanted->instance.id != 0 && instance_epoch(wanted->instance.id) == NULL) {
        return false;
    }
    return wanted->policy >= TSLAB_POLICY_DRAIN && wanted->policy <= TSLAB_POLICY_TRAP;
}

TSLAB_API tslab_epoch tslab_epoch_open_sized(const struct tslab_epoch_options *options, size_t size)
{
    struct tslab_epoch_options taken = { .label = NULL };
    const struct tslab_epoch_options *const wanted = &taken;
    if (options != NULL && (!sized_is_valid(size) || !sized_take(&taken, sizeof taken, options, size))) {
        return fail_epoch(EINVAL);
    }
    if (taken.policy == TSLAB_POLICY_DEFAULT) {
        taken.policy = TSLAB_POLICY_DRAIN;
    }
    if (!options_are_valid(wanted)) {
        return fail_epoch(EINVAL);
    }
    struct thread *thread = current_get();
    if (thread == NULL) {
        return fail_epoch(ENOMEM);
    }
    const bool dies = wanted->policy == TSLAB_POLICY_RELEASE || wanted->policy == TSLAB_POLICY_TRAP;
    const struct scope_options made = {
        .label = wanted->label,
        .parent = wanted->parent.id,
        .instance = wanted->instance.id,
        .policy = wanted->policy,
        .plain = !dies || (wanted->flags & TSLAB_OPEN_VOUCHED) != 0,
    };
    const uint64_t value = scope_open(thread, &made);
    current_put(thread);
    return value == 0 ? fail_epoch(ENOMEM) : (tslab_epoch){ value };
}

TSLAB_API enum tslab_status tslab_epoch_enter(tslab_epoch epoch)
{
    if (likely(heap_current->thread != NULL)) {
        return scope_enter(heap_current->thread, epoch.id);
    }
    /* A thread whose own heap is gone, since it ends, has nothing that could be inside. */
    struct thread *thread = current_get();
    if (thread == NULL || heap_current == &heap_gone) {
        if (thread != NULL) {
            current_put(thread);
        }
        return TSLAB_NO_MEMORY;
    }
    return scope_enter(thread, epoch.id);
}

TSLAB_API enum tslab_status tslab_epoch_leave(tslab_epoch epoch)
{
    struct thread *thread = heap_current->thread;
    return thread == NULL ? TSLAB_NOT_INSIDE : scope_leave(thread, epoch.id);
}

/* One of the ways to end an epoch; *epoch may name another afterwards. */
static enum tslab_status end_epoch(tslab_epoch *epoch, tslab_close_flags flags, struct tslab_epoch_report *report,
                                   int (*verb)(struct thread *, uint64_t *, bool, struct tslab_epoch_report *))
{
    if ((flags & ~(unsigned)TSLAB_CLOSE_RECLAIM) != 0) {
        return TSLAB_INVALID;
    }
    if (epoch_is_hidden(epoch->id)) {
        return TSLAB_STALE;
    }
    struct thread *thread = current_get();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    const int saved = errno;
    struct tslab_epoch_report made;
    const int status = verb(thread, &epoch->id, (flags & TSLAB_CLOSE_RECLAIM) != 0, report == NULL ? NULL : &made);
    if (report != NULL && status >= 0) {
        *report = made;
    }
    current_put(thread);
    errno = saved;
    return status;
}

static int close_verb(struct thread *thread, uint64_t *value, bool reclaims, struct tslab_epoch_report *report)
{
    return scope_close(thread, *value, reclaims, report);
}

static int release_verb(struct thread *thread, uint64_t *value, bool reclaims, struct tslab_epoch_report *report)
{
    return scope_release(thread, *value, reclaims, report);
}

/* Why an epoch that was closed is not gone. False: it is gone by now. */
static bool report_what_is_left(tslab_epoch epoch, struct tslab_epoch_report *report)
{
    struct tslab_epoch_stats stats;
    if (tslab_epoch_stats_get(epoch, &stats) != TSLAB_OK) {
        return false;
    }
    *report = (struct tslab_epoch_report){
        .survivors = stats.live_objects,
        .survivor_bytes = stats.live_bytes,
        .age_ms = stats.age_ms,
    };
    return true;
}

/* The same by the names that programs use, into a report of the caller's size. The root of an instance would leave the
 * epochs of the instance behind. */
static enum tslab_status end_by_hand(tslab_epoch *epoch, tslab_close_flags flags, void *report, size_t size,
                                     int (*verb)(struct thread *, uint64_t *, bool, struct tslab_epoch_report *))
{
    if (instance_epoch(epoch->id) != NULL || (report != NULL && !sized_is_valid(size))) {
        return TSLAB_INVALID;
    }
    struct tslab_epoch_report made;
    const enum tslab_status status = end_epoch(epoch, flags, report == NULL ? NULL : &made, verb);
    if (report != NULL && (status >= 0 || (status == TSLAB_CLOSED && report_what_is_left(*epoch, &made)))) {
        sized_give(report, size, &made, sizeof made);
    }
    return status;
}

TSLAB_API enum tslab_status tslab_epoch_close_sized(tslab_epoch epoch, tslab_close_flags flags,
                                                    struct tslab_epoch_report *report, size_t size)
{
    return end_by_hand(&epoch, flags, report, size, close_verb);
}

TSLAB_API enum tslab_status tslab_epoch_release_sized(tslab_epoch epoch, tslab_close_flags flags,
                                                      struct tslab_epoch_report *report, size_t size)
{
    return end_by_hand(&epoch, flags, report, size, release_verb);
}

static int advance_verb(struct thread *thread, uint64_t *value, bool reclaims, struct tslab_epoch_report *report)
{
    const uint64_t before = *value;
    const int status = scope_advance(thread, value, reclaims, report);
    if (status >= 0) {
        work_advanced(thread, before, *value);
    }
    return status;
}

TSLAB_API enum tslab_status tslab_epoch_advance_sized(tslab_epoch *epoch, tslab_close_flags flags,
                                                      struct tslab_epoch_report *report, size_t size)
{
    return epoch == NULL ? TSLAB_INVALID : end_by_hand(epoch, flags, report, size, advance_verb);
}

/* In an epoch that the thread is not innermost in, or that has no room at hand. */
static noinline void *alloc_by_name(tslab_epoch epoch, size_t size, size_t alignment, bool *zero)
{
    if (epoch_is_hidden(epoch.id)) {
        errno = EINVAL;
        return NULL;
    }
    struct thread *thread = current_get();
    if (thread == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    int status;
    void *p = scope_alloc_in(thread, epoch.id, size, alignment, zero, &status);
    current_put(thread);
    if (p == NULL) {
        errno = status == TSLAB_NO_MEMORY ? ENOMEM : EINVAL;
    }
    return p;
}

static noinline void *alloc_past_scope(tslab_epoch epoch, size_t size)
{
    bool zero;
    return object_begin(alloc_by_name(epoch, guard_room(size), 1, &zero), size);
}

TSLAB_API void *tslab_epoch_malloc(tslab_epoch epoch, size_t size)
{
    struct hold *const hold = heap_current->innermost;
    if (likely(hold->value == epoch.id)) {
        void *p = chunk_alloc_small(&hold->cursor, guard_room(size));
        if (likely(p != NULL)) {
            return object_begin(p, size);
        }
    }
    return alloc_past_scope(epoch, size);
}

TSLAB_API void *tslab_epoch_calloc(tslab_epoch epoch, size_t count, size_t size)
{
    size_t bytes;
    bool zero = false;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *p = object_begin(alloc_by_name(epoch, guard_room(bytes), 1, &zero), bytes);
    if (p != NULL && !zero) {
        memset(p, 0, bytes);
    }
    return p;
}

TSLAB_API void *tslab_epoch_aligned_alloc(tslab_epoch epoch, size_t alignment, size_t size)
{
    bool zero;
    if (!is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return object_begin(alloc_by_name(epoch, guard_room(size), alignment, &zero), size);
}

TSLAB_API tslab_epoch tslab_epoch_current(void)
{
    const struct thread *thread = heap_current->thread;
    return (tslab_epoch){ thread == NULL ? 0 : scope_value(thread) };
}

TSLAB_API tslab_epoch tslab_epoch_of(const void *p)
{
    const struct epoch *epoch = object_epoch(p);
    const struct epoch *owner = load_plain(&epoch->owner);
    epoch = owner != NULL ? owner : epoch; /* of objects with handles */
    return (tslab_epoch){ epoch == &epoch_process ? 0 : epoch_value(epoch) };
}

static enum tslab_epoch_state state_of(uint64_t word)
{
    switch (epoch_word_state(word)) {
    case EPOCH_OPEN:
        return TSLAB_EPOCH_OPEN;
    case EPOCH_DRAINING:
        return TSLAB_EPOCH_DRAINING;
    default:
        return TSLAB_EPOCH_CLOSING;
    }
}

static uint32_t threads_inside(const struct epoch *epoch)
{
    uint32_t inside = 0;
    for (const struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        const struct thread *holder = load_plain(&hold->holder);
        inside += holder != HOLD_IDLE && holder != HOLD_TAKEN;
    }
    return inside;
}

static void add_survivors(struct epoch *epoch, struct tslab_epoch_stats *stats)
{
    struct survivors sum;
    survivors_count(epoch, &sum);
    stats->live_objects += sum.objects;
    stats->live_bytes += sum.bytes;
    stats->memory_bytes += sum.memory_bytes;
}

/* False when the epoch is gone. */
static bool epoch_describe(struct epoch *epoch, struct tslab_epoch_stats *stats)
{
    const uint64_t word = load_seq_cst(&epoch->word);
    memset(stats, 0, sizeof *stats);
    stats->epoch.id = epoch_generation(word) | epoch->id;
    stats->parent.id = load_plain(&epoch->parent);
    stats->instance.id = load_plain(&epoch->is_instance) != 0 ? stats->epoch.id : load_plain(&epoch->instance);
    (void)epoch_label(epoch, stats->label);
    stats->policy = (enum tslab_policy)load_plain(&epoch->policy);
    stats->state = state_of(word);
    stats->inside = threads_inside(epoch);
    stats->age_ms = os_ms_since(load_plain(&epoch->opened_ms));
    stats->closed_ms = load_plain(&epoch->closed_ms) == 0 ? 0 : os_ms_since(load_plain(&epoch->closed_ms));
    stats->recycled_runs = counter_get(&epoch->recycled_runs);
    add_survivors(epoch, stats);
    struct epoch *handles = epoch_serving(epoch);
    if (handles != NULL && epoch_word_state(load_seq_cst(&handles->word)) != EPOCH_FREE) {
        add_survivors(handles, stats);
    }
    return epoch_word_state(word) != EPOCH_FREE && epoch_same_generation(word, load_seq_cst(&epoch->word)) &&
           epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE;
}

TSLAB_API enum tslab_status tslab_epoch_stats_get_sized(tslab_epoch value, struct tslab_epoch_stats *stats, size_t size)
{
    struct epoch *epoch = epoch_is_hidden(value.id) ? NULL : epoch_by_value(value.id);
    if (epoch == NULL || stats == NULL || !sized_is_valid(size)) {
        return epoch == NULL ? TSLAB_STALE : TSLAB_INVALID;
    }
    struct thread *thread = current_get();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    gate_lock(thread);
    struct tslab_epoch_stats found;
    const bool described = epoch_describe(epoch, &found) && found.epoch.id == value.id;
    gate_unlock(thread);
    current_put(thread);
    if (!described) {
        return TSLAB_STALE;
    }
    sized_give(stats, size, &found, sizeof found);
    return TSLAB_OK;
}

/* The next record from an index on that is not FREE, nor serves the handles of another; NULL: there are no more. */
static struct epoch *next_of_users(uint32_t from)
{
    struct epoch *epoch = epoch_next(from);
    while (epoch != NULL &&
           (epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_FREE || load_plain(&epoch->owner) != NULL)) {
        epoch = epoch_next(epoch->id + 1);
    }
    return epoch;
}

bool epochs_next(uint32_t *from, struct tslab_epoch_stats *entry)
{
    for (struct epoch *epoch; (epoch = next_of_users(*from)) != NULL;) {
        *from = epoch->id + 1;
        if (epoch_describe(epoch, entry)) {
            return true;
        }
    }
    return false;
}

size_t epochs_describe(uint32_t *from, struct tslab_epoch_stats *entries, size_t capacity)
{
    struct thread *thread = current_get();
    if (thread == NULL) {
        return 0;
    }
    size_t n = 0;
    gate_lock(thread);
    while (n < capacity && epochs_next(from, &entries[n])) {
        n++;
    }
    gate_unlock(thread);
    current_put(thread);
    return n;
}

TSLAB_API size_t tslab_epoch_list_sized(struct tslab_epoch_stats *entries, size_t capacity, size_t size)
{
    if (!sized_is_valid(size)) {
        errno = EINVAL;
        return 0;
    }
    struct tslab_epoch_stats some[LISTED_AT_ONCE];
    uint32_t from = 0;
    size_t n = 0;
    size_t found;
    while ((found = epochs_describe(&from, some, min_size(capacity - n, LISTED_AT_ONCE))) > 0) {
        for (size_t i = 0; i < found; i++) {
            sized_give((char *)entries + (n + i) * size, size, &some[i], sizeof some[i]);
        }
        n += found;
    }
    size_t more = 0;
    /* Where there was room, what is new since the look is not told: it has no entry. */
    for (struct epoch *epoch; n == capacity && (epoch = next_of_users(from)) != NULL; from = epoch->id + 1) {
        more++;
    }
    return n + more;
}

/* Handles. */

TSLAB_API tslab_handle tslab_handle_malloc(tslab_epoch epoch, size_t size, void **p)
{
    tslab_handle handle = { 0 };
    if (size > SMALL_MAX || epoch_is_hidden(epoch.id)) {
        errno = EINVAL;
        return handle;
    }
    struct thread *thread = current_get();
    if (thread == NULL) {
        errno = ENOMEM;
        return handle;
    }
    int status;
    void *object;
    handle.id = handle_alloc(thread, epoch.id, size, &object, &status);
    current_put(thread);
    if (handle.id == 0) {
        errno = status == TSLAB_NO_MEMORY ? ENOMEM : EINVAL;
    } else {
        object = object_begin(object, size);
        if (p != NULL) {
            *p = object;
        }
    }
    return handle;
}

TSLAB_API void *tslab_handle_get(tslab_epoch epoch, tslab_handle handle)
{
    return handle_get(epoch.id, handle.id);
}

TSLAB_API enum tslab_status tslab_handle_free(tslab_epoch epoch, tslab_handle handle)
{
    struct thread *thread = current_get_surely();
    if (thread == NULL) {
        return TSLAB_STALE;
    }
    const bool freed = handle_free(thread, epoch.id, handle.id);
    current_put(thread);
    return freed ? TSLAB_OK : TSLAB_STALE;
}

/* Instances. */

TSLAB_API tslab_instance tslab_instance_open(const char *label)
{
    struct thread *thread = current_get();
    const struct scope_options options = { .label = label, .policy = TSLAB_POLICY_RELEASE, .is_instance = true };
    const uint64_t value = thread == NULL ? 0 : scope_open(thread, &options);
    if (thread != NULL) {
        current_put(thread);
    }
    if (value == 0) {
        errno = ENOMEM;
    }
    return (tslab_instance){ value };
}

TSLAB_API tslab_epoch tslab_instance_root(tslab_instance instance)
{
    return (tslab_epoch){ instance_epoch(instance.id) == NULL ? 0 : instance.id };
}

static enum tslab_status instance_close(tslab_instance instance, tslab_close_flags flags,
                                        struct tslab_epoch_report *report)
{
    struct epoch *root = instance_epoch(instance.id);
    if (root == NULL) {
        return TSLAB_STALE;
    }
    if ((flags & ~(unsigned)TSLAB_CLOSE_RECLAIM) != 0) {
        return TSLAB_INVALID;
    }
    for (const struct epoch *epoch = epoch_next(0); epoch != NULL; epoch = epoch_next(epoch->id + 1)) {
        const bool member = epoch == root || load_plain(&epoch->instance) == instance.id;
        if (member && epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE && threads_inside(epoch) > 0) {
            return TSLAB_BUSY;
        }
    }
    struct tslab_epoch_report sum = { 0 };
    for (struct epoch *epoch = epoch_next(0); epoch != NULL; epoch = epoch_next(epoch->id + 1)) {
        if (load_plain(&epoch->instance) != instance.id || epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_FREE) {
            continue;
        }
        struct tslab_epoch_report part = { 0 };
        const int status = end_epoch(&(tslab_epoch){ epoch_value(epoch) }, flags, &part, release_verb);
        if (status == TSLAB_BUSY || status == TSLAB_NO_MEMORY) {
            return status; /* somebody came in between; what is over is over */
        }
        sum.survivors += part.survivors;
        sum.survivor_bytes += part.survivor_bytes;
        sum.recycled_bytes += part.recycled_bytes;
        sum.reclaimed_bytes += part.reclaimed_bytes;
        sum.rss_change_bytes += part.rss_change_bytes;
    }
    struct tslab_epoch_report last = { 0 };
    const int status = end_epoch(&(tslab_epoch){ instance.id }, flags, &last, release_verb);
    if (report != NULL && status >= 0) {
        *report = last;
        report->survivors += sum.survivors;
        report->survivor_bytes += sum.survivor_bytes;
        report->recycled_bytes += sum.recycled_bytes;
        report->reclaimed_bytes += sum.reclaimed_bytes;
        report->rss_change_bytes += sum.rss_change_bytes;
    }
    return status;
}

TSLAB_API enum tslab_status tslab_instance_close_sized(tslab_instance instance, tslab_close_flags flags,
                                                       struct tslab_epoch_report *report, size_t size)
{
    if (report != NULL && !sized_is_valid(size)) {
        return TSLAB_INVALID;
    }
    struct tslab_epoch_report made;
    const enum tslab_status status = instance_close(instance, flags, report == NULL ? NULL : &made);
    if (report != NULL && status >= 0) {
        sized_give(report, size, &made, sizeof made);
    }
    return status;
}

/* Units of work. */

TSLAB_API enum tslab_status tslab_work_begin(const char *label)
{
    struct thread *thread = current_get();
    if (thread == NULL || heap_current == &heap_gone) {
        if (thread != NULL) {
            current_put(thread);
        }
        return TSLAB_NO_MEMORY;
    }
    return work_begin(thread, label);
}

TSLAB_API enum tslab_status tslab_work_end(void)
{
    struct thread *thread = heap_current->thread;
    return thread == NULL ? TSLAB_NOT_INSIDE : work_end(thread);
}

TSLAB_API void tslab_work_rotate(void)
{
    work_rotate();
}

TSLAB_API void tslab_work_pause(void)
{
    struct thread *thread = current_get();
    if (thread != NULL && heap_current != &heap_gone) {
        scope_pause(thread);
    } else if (thread != NULL) {
        current_put(thread);
    }
}

TSLAB_API enum tslab_status tslab_work_resume(void)
{
    struct thread *thread = heap_current->thread;
    return thread != NULL && scope_resume(thread) ? TSLAB_OK : TSLAB_NOT_INSIDE;
}
