/* Epochs, as users see them. */
#include <tslab/tslab.h>

#include "api/epochs.h"
#include "core/fast.h"
#include "core/handle.h"
#include "core/scope.h"
#include "core/survivors.h"
#include "core/work.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

TSLAB_API const char *tslab_status_text(int status)
{
    switch (status) {
    case TSLAB_OK:
        return "all is well";
    case TSLAB_EXPLICIT:
        return "inside the epoch, but plain malloc does not land there";
    case TSLAB_PENDING:
        return "closed, but a thread is still inside, and the last to leave completes it";
    case TSLAB_STALE:
        return "there is no such epoch, handle or instance (any more)";
    case TSLAB_CLOSED:
        return "the epoch is closed";
    case TSLAB_NOT_INSIDE:
        return "this is not what the thread entered last";
    case TSLAB_BUSY:
        return "a thread is inside";
    case TSLAB_NO_MEMORY:
        return "there is no memory for it";
    case TSLAB_INVALID:
        return "an argument is out of its range";
    default:
        return "no status of tslab";
    }
}

static tslab_epoch fail_epoch(int error)
{
    errno = error;
    return (tslab_epoch){ 0 };
}

TSLAB_API tslab_epoch tslab_epoch_open(const struct tslab_epoch_options *options)
{
    static const struct tslab_epoch_options defaults = { .label = NULL };
    const struct tslab_epoch_options *wanted = options == NULL ? &defaults : options;
    if ((unsigned)wanted->policy > TSLAB_TRAP || (wanted->flags & ~(unsigned)TSLAB_VOUCHED) != 0 ||
        (wanted->parent.id != 0 && (epoch_by_value(wanted->parent.id) == NULL || epoch_is_hidden(wanted->parent.id))) ||
        (wanted->instance.id != 0 && instance_epoch(wanted->instance.id) == NULL)) {
        return fail_epoch(EINVAL);
    }
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return fail_epoch(ENOMEM);
    }
    const bool dies = wanted->policy == TSLAB_RELEASE || wanted->policy == TSLAB_TRAP;
    const struct scope_options made = {
        .label = wanted->label,
        .parent = wanted->parent.id,
        .instance = wanted->instance.id,
        .policy = wanted->policy,
        .plain = !dies || (wanted->flags & TSLAB_VOUCHED) != 0,
    };
    const uint64_t value = scope_open(thread, &made);
    current_leave(thread);
    return value == 0 ? fail_epoch(ENOMEM) : (tslab_epoch){ value };
}

TSLAB_API int tslab_epoch_enter(tslab_epoch epoch)
{
    if (likely(heap_current->thread != NULL)) {
        return scope_enter(heap_current->thread, epoch.id);
    }
    /* A thread whose own heap is gone, since it ends, has nothing that could be inside. */
    struct thread *thread = current_enter();
    if (thread == NULL || heap_current == &heap_gone) {
        if (thread != NULL) {
            current_leave(thread);
        }
        return TSLAB_NO_MEMORY;
    }
    return scope_enter(thread, epoch.id);
}

TSLAB_API int tslab_epoch_leave(tslab_epoch epoch)
{
    struct thread *thread = heap_current->thread;
    return thread == NULL ? TSLAB_NOT_INSIDE : (int)scope_leave(thread, epoch.id);
}

/* One of the ways to end an epoch; *epoch may name another afterwards. */
static int end_epoch(tslab_epoch *epoch, unsigned how, struct tslab_epoch_report *report,
                     int (*verb)(struct thread *, uint64_t *, bool, struct tslab_epoch_report *))
{
    if ((how & ~(unsigned)TSLAB_RECLAIM) != 0) {
        return TSLAB_INVALID;
    }
    if (epoch_is_hidden(epoch->id)) {
        return TSLAB_STALE;
    }
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    const int saved = errno;
    struct tslab_epoch_report made;
    const int status = verb(thread, &epoch->id, (how & TSLAB_RECLAIM) != 0, report == NULL ? NULL : &made);
    if (report != NULL && status >= 0) {
        *report = made;
    }
    current_leave(thread);
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

/* The same by the names that programs use: the root of an instance would leave the epochs of the instance behind. */
static int end_by_hand(tslab_epoch *epoch, unsigned how, struct tslab_epoch_report *report,
                       int (*verb)(struct thread *, uint64_t *, bool, struct tslab_epoch_report *))
{
    return instance_epoch(epoch->id) != NULL ? TSLAB_INVALID : end_epoch(epoch, how, report, verb);
}

TSLAB_API int tslab_epoch_close(tslab_epoch epoch, unsigned how, struct tslab_epoch_report *report)
{
    return end_by_hand(&epoch, how, report, close_verb);
}

TSLAB_API int tslab_epoch_release(tslab_epoch epoch, unsigned how, struct tslab_epoch_report *report)
{
    return end_by_hand(&epoch, how, report, release_verb);
}

TSLAB_API int tslab_epoch_advance(tslab_epoch *epoch, unsigned how, struct tslab_epoch_report *report)
{
    if (epoch == NULL) {
        return TSLAB_INVALID;
    }
    return end_by_hand(epoch, how, report, scope_advance);
}

/* In an epoch that the thread is not innermost in, or that has no room at hand. */
static noinline void *alloc_by_name(tslab_epoch epoch, size_t size, size_t alignment, bool *zero)
{
    if (epoch_is_hidden(epoch.id)) {
        errno = EINVAL;
        return NULL;
    }
    struct thread *thread = current_enter();
    if (thread == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    int status;
    void *p = scope_alloc_in(thread, epoch.id, size, alignment, zero, &status);
    current_leave(thread);
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
    struct hold *const hold = heap_current->inside;
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
    const struct epoch *owner = stat_get(&epoch->owner);
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
        const struct thread *holder = stat_get(&hold->holder);
        inside += holder != HOLD_IDLE && holder != HOLD_TAKEN && holder != HOLD_READ;
    }
    return inside;
}

static void add_survivors(const struct thread *thread, struct epoch *epoch, struct tslab_epoch_stats *stats)
{
    struct survivors sum;
    survivors_count(thread, epoch, false, &sum);
    stats->live_objects += sum.objects;
    stats->live_bytes += sum.bytes;
    stats->memory_bytes += sum.memory_bytes;
}

/* False when the epoch is gone. */
static bool describe(struct thread *thread, struct epoch *epoch, struct tslab_epoch_stats *stats)
{
    const uint64_t word = load_seq_cst(&epoch->word);
    memset(stats, 0, sizeof *stats);
    stats->epoch.id = epoch_generation(word) | epoch->id;
    stats->parent.id = stat_get(&epoch->parent);
    stats->instance.id = stat_get(&epoch->is_instance) != 0 ? stats->epoch.id : stat_get(&epoch->instance);
    (void)epoch_label(epoch, stats->label);
    stats->policy = (enum tslab_policy)stat_get(&epoch->policy);
    stats->state = state_of(word);
    stats->inside = threads_inside(epoch);
    stats->age_ms = os_ms_since(stat_get(&epoch->opened_ms));
    stats->closed_ms = stat_get(&epoch->closed_ms) == 0 ? 0 : os_ms_since(stat_get(&epoch->closed_ms));
    stats->recycled_runs = stat_get(&epoch->recycled_runs);
    add_survivors(thread, epoch, stats);
    struct epoch *handles = epoch_serving(epoch);
    if (handles != NULL && epoch_word_state(load_seq_cst(&handles->word)) != EPOCH_FREE) {
        add_survivors(thread, handles, stats);
    }
    return epoch_word_state(word) != EPOCH_FREE && epoch_same_generation(word, load_seq_cst(&epoch->word)) &&
           epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE;
}

/* The counters of heaps that this thread is in are brought up to date. */
static void publish_scopes(const struct thread *thread)
{
    for (const struct hold *hold = thread->scope; hold != NULL; hold = hold->outer) {
        if (hold->heap != NULL) {
            heap_publish(hold->heap);
        }
    }
}

TSLAB_API int tslab_epoch_stats_get(tslab_epoch value, struct tslab_epoch_stats *stats)
{
    struct epoch *epoch = epoch_is_hidden(value.id) ? NULL : epoch_by_value(value.id);
    if (epoch == NULL || stats == NULL) {
        return epoch == NULL ? TSLAB_STALE : TSLAB_INVALID;
    }
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    gate_enter(thread);
    publish_scopes(thread);
    const bool described = describe(thread, epoch, stats) && stats->epoch.id == value.id;
    gate_leave(thread);
    current_leave(thread);
    return described ? TSLAB_OK : TSLAB_STALE;
}

size_t epochs_describe(uint32_t *from, struct tslab_epoch_stats *entries, size_t capacity)
{
    struct thread *thread = current_enter();
    if (thread == NULL) {
        return 0;
    }
    size_t n = 0;
    gate_enter(thread);
    publish_scopes(thread);
    for (; *from < epoch_limit() && n < capacity; (*from)++) {
        struct epoch *epoch = epoch_existing(*from);
        if (*from > EPOCH_PROCESS && epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE &&
            stat_get(&epoch->owner) == NULL) {
            n += describe(thread, epoch, &entries[n]);
        }
    }
    gate_leave(thread);
    current_leave(thread);
    return n;
}

TSLAB_API size_t tslab_epoch_list(struct tslab_epoch_stats *entries, size_t capacity)
{
    uint32_t from = 0;
    const size_t n = epochs_describe(&from, entries, capacity);
    size_t more = 0;
    /* Where there was room, what is new since the look is not told: it has no entry. */
    for (; n == capacity && from < epoch_limit(); from++) {
        struct epoch *epoch = epoch_existing(from);
        more += from > EPOCH_PROCESS && epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE &&
                stat_get(&epoch->owner) == NULL;
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
    struct thread *thread = current_enter();
    if (thread == NULL) {
        errno = ENOMEM;
        return handle;
    }
    int status;
    void *object;
    handle.id = handle_alloc(thread, epoch.id, size, &object, &status);
    current_leave(thread);
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

TSLAB_API int tslab_handle_free(tslab_epoch epoch, tslab_handle handle)
{
    struct thread *thread = current_enter_surely();
    if (thread == NULL) {
        return TSLAB_STALE;
    }
    const bool freed = handle_free_object(thread, epoch.id, handle.id);
    current_leave(thread);
    return freed ? TSLAB_OK : TSLAB_STALE;
}

/* Instances. */

TSLAB_API tslab_instance tslab_instance_open(const char *label)
{
    struct thread *thread = current_enter();
    const struct scope_options options = { .label = label, .policy = TSLAB_RELEASE, .is_instance = true };
    const uint64_t value = thread == NULL ? 0 : scope_open(thread, &options);
    if (thread != NULL) {
        current_leave(thread);
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

TSLAB_API int tslab_instance_close(tslab_instance instance, unsigned how, struct tslab_epoch_report *report)
{
    struct epoch *root = instance_epoch(instance.id);
    if (root == NULL) {
        return TSLAB_STALE;
    }
    if ((how & ~(unsigned)TSLAB_RECLAIM) != 0) {
        return TSLAB_INVALID;
    }
    for (uint32_t id = EPOCH_PROCESS + 1; id < epoch_limit(); id++) {
        const struct epoch *epoch = epoch_existing(id);
        const bool member = epoch == root || stat_get(&epoch->instance) == instance.id;
        if (member && epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE && threads_inside(epoch) > 0) {
            return TSLAB_BUSY;
        }
    }
    struct tslab_epoch_report sum = { 0 };
    for (uint32_t id = EPOCH_PROCESS + 1; id < epoch_limit(); id++) {
        struct epoch *epoch = epoch_existing(id);
        if (stat_get(&epoch->instance) != instance.id || epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_FREE) {
            continue;
        }
        struct tslab_epoch_report part = { 0 };
        const int status = end_epoch(&(tslab_epoch){ epoch_value(epoch) }, how, &part, release_verb);
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
    const int status = end_epoch(&(tslab_epoch){ instance.id }, how, &last, release_verb);
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

/* Units of work. */

TSLAB_API int tslab_work_begin(const char *label)
{
    struct thread *thread = current_enter();
    if (thread == NULL || heap_current == &heap_gone) {
        if (thread != NULL) {
            current_leave(thread);
        }
        return TSLAB_NO_MEMORY;
    }
    return work_begin(thread, label);
}

TSLAB_API int tslab_work_end(void)
{
    struct thread *thread = heap_current->thread;
    return thread == NULL ? TSLAB_NOT_INSIDE : (int)work_end(thread);
}

TSLAB_API void tslab_work_rotate(void)
{
    work_rotate();
}

TSLAB_API void tslab_work_pause(void)
{
    struct thread *thread = current_enter();
    if (thread != NULL && heap_current != &heap_gone) {
        scope_pause(thread);
    } else if (thread != NULL) {
        current_leave(thread);
    }
}

TSLAB_API int tslab_work_resume(void)
{
    struct thread *thread = heap_current->thread;
    return thread != NULL && scope_resume(thread) ? TSLAB_OK : TSLAB_NOT_INSIDE;
}
