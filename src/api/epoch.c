/* Epochs, handles, instances and units of work by their public names: checks of arguments, errno, reports. The
 * folder epoch does the work. */
#include "common/trace.h"
#include "epoch/ending.h"
#include "epoch/epoch_alloc.h"
#include "epoch/scope.h"
#include "epoch/work_unit.h"
#include "malloc/alloc.h"
#include "malloc/fast.h"
#include "malloc/handle.h"
#include "os/fatal.h"
#include "slab/chunk.h"
#include "space/limit.h"

#include <tslab/tslab.h>

#include <errno.h>

static tslab_epoch fail_epoch(int error)
{
    errno = error;
    return (tslab_epoch){ 0 };
}

/* The error of an allocation in an epoch that has failed. */
static int failed(int status, size_t size)
{
    if (status != TSLAB_NO_MEMORY) {
        return EINVAL;
    }
    limit_no_memory(size);
    return ENOMEM;
}

/* Whether an epoch can be opened with these options. */
static bool options_are_valid(const struct tslab_epoch_options *wanted)
{
    if ((wanted->flags & ~(unsigned)TSLAB_OPEN_VOUCHED) != 0) {
        return false;
    }
    if (wanted->parent.id != 0 && epoch_by_value(wanted->parent.id) == NULL) {
        return false;
    }
    if (wanted->instance.id != 0 && instance_root(wanted->instance.id) == NULL) {
        return false;
    }
    return wanted->policy >= TSLAB_POLICY_DRAIN && wanted->policy <= TSLAB_POLICY_TRAP;
}

TSLAB_API tslab_epoch tslab_epoch_open(const struct tslab_epoch_options *options)
{
    struct tslab_epoch_options wanted = { .label = NULL };
    if (options != NULL) {
        wanted = *options;
    }
    if (wanted.policy == TSLAB_POLICY_DEFAULT) {
        wanted.policy = TSLAB_POLICY_DRAIN;
    }
    if (!options_are_valid(&wanted)) {
        return fail_epoch(EINVAL);
    }
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return fail_epoch(ENOMEM);
    }
    const bool dies = wanted.policy == TSLAB_POLICY_RELEASE || wanted.policy == TSLAB_POLICY_TRAP;
    const struct scope_options made = {
        .label = wanted.label,
        .parent = wanted.parent.id,
        .instance = wanted.instance.id,
        .policy = wanted.policy,
        .limit_units =
            wanted.limit_bytes == 0 ? 0 : (uint32_t)min_size(max_size(wanted.limit_bytes >> UNIT_SHIFT, 1), UINT32_MAX),
        .plain = !dies || (wanted.flags & TSLAB_OPEN_VOUCHED) != 0,
    };
    const uint64_t value = scope_open(thread, &made);
    current_thread_put(thread);
    return value == 0 ? fail_epoch(ENOMEM) : (tslab_epoch){ value };
}

/* The record of a thread that may be inside of epochs. NULL: there is no memory, or the thread is ending. Then it has
 * lost its own heap, and nothing is left of it that could be inside. */
static struct thread *record_inside(void)
{
    struct thread *const thread = current_thread_get();
    if (thread == NULL || front_current->thread != NULL) {
        return thread;
    }
    current_thread_put(thread);
    return NULL;
}

TSLAB_API enum tslab_status tslab_epoch_enter(tslab_epoch epoch)
{
    if (likely(front_current->thread != NULL)) {
        return scope_enter(front_current->thread, epoch.id);
    }
    struct thread *const thread = record_inside();
    return thread == NULL ? TSLAB_NO_MEMORY : scope_enter(thread, epoch.id);
}

TSLAB_API enum tslab_status tslab_epoch_leave(tslab_epoch epoch)
{
    struct thread *thread = front_current->thread;
    return thread == NULL ? TSLAB_NOT_INSIDE : scope_leave(thread, epoch.id);
}

/* Reports what keeps an epoch that was closed before. False: the epoch is gone by now. */
static bool report_what_is_left(uint64_t value, struct tslab_epoch_report *report)
{
    struct tslab_epoch_stats stats;
    if (tslab_epoch_stats_get((tslab_epoch){ value }, &stats) != TSLAB_OK) {
        return false;
    }
    *report = (struct tslab_epoch_report){
        .survivors = stats.live_objects,
        .survivor_bytes = stats.live_bytes,
        .age_ms = stats.age_ms,
    };
    return true;
}

enum ending { BY_CLOSE, BY_RELEASE, BY_ADVANCE, BY_INSTANCE };

/* Ends an epoch or an instance for a program. After an advance, *value names the next epoch. */
static enum tslab_status end_by_hand(enum ending ending, uint64_t *value, tslab_close_flags flags,
                                     struct tslab_epoch_report *report)
{
    const uint64_t before = *value;
    const bool is_instance = instance_root(before) != NULL, reclaims = (flags & TSLAB_CLOSE_RECLAIM) != 0;
    if (ending == BY_INSTANCE && !is_instance) {
        return TSLAB_STALE;
    }
    /* The end of an instance's root alone would leave the other epochs of the instance behind. */
    if ((ending != BY_INSTANCE && is_instance) || (flags & ~(unsigned)TSLAB_CLOSE_RECLAIM) != 0) {
        return TSLAB_INVALID;
    }
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    const int saved = errno;
    struct tslab_epoch_report made, *const wanted = report == NULL ? NULL : &made;
    const int status = ending == BY_CLOSE     ? ending_close(thread, before, reclaims, wanted)
                       : ending == BY_RELEASE ? ending_release(thread, before, reclaims, wanted)
                       : ending == BY_ADVANCE ? scope_advance(thread, value, reclaims, wanted)
                                              : instance_close(thread, before, reclaims, wanted);
    invariant((ending == BY_ADVANCE && status >= 0) == (*value != before));
    if (*value != before) {
        work_unit_advanced(thread, before, *value);
    }
    current_thread_put(thread);
    errno = saved;
    if (report != NULL && (status >= 0 || (status == TSLAB_CLOSED && report_what_is_left(before, &made)))) {
        *report = made;
    }
    return (enum tslab_status)status;
}

TSLAB_API enum tslab_status tslab_epoch_close(tslab_epoch epoch, tslab_close_flags flags,
                                              struct tslab_epoch_report *report)
{
    return end_by_hand(BY_CLOSE, &epoch.id, flags, report);
}

TSLAB_API enum tslab_status tslab_epoch_release(tslab_epoch epoch, tslab_close_flags flags,
                                                struct tslab_epoch_report *report)
{
    return end_by_hand(BY_RELEASE, &epoch.id, flags, report);
}

TSLAB_API enum tslab_status tslab_epoch_advance(tslab_epoch *epoch, tslab_close_flags flags,
                                                struct tslab_epoch_report *report)
{
    return epoch == NULL ? TSLAB_INVALID : end_by_hand(BY_ADVANCE, &epoch->id, flags, report);
}

/* Allocates in an epoch that is not the thread's innermost one, or whose chunk has no room. */
static noinline void *alloc_by_name(tslab_epoch epoch, size_t size, size_t alignment, bool *zero)
{
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    int status;
    void *p = epoch_alloc_in(thread, epoch.id, size, alignment, zero, &status);
    if (unlikely(p == NULL) && status == TSLAB_NO_MEMORY && object_make_room(thread)) {
        p = epoch_alloc_in(thread, epoch.id, size, alignment, zero, &status);
    }
    current_thread_put(thread);
    if (p == NULL) {
        errno = failed(status, size);
    }
    trace_after_slow();
    return p;
}

static noinline void *alloc_past_scope(tslab_epoch epoch, size_t size)
{
    bool zero;
    return object_begin(alloc_by_name(epoch, guard_room(size), 1, &zero), size);
}

TSLAB_API void *tslab_epoch_malloc(tslab_epoch epoch, size_t size)
{
    struct hold *const hold = front_current->innermost;
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
        alloc_clear(p, bytes);
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
    const struct thread *thread = front_current->thread;
    return (tslab_epoch){ thread == NULL ? 0 : scope_value(thread) };
}

TSLAB_API tslab_epoch tslab_epoch_of(const void *p)
{
    const struct epoch *epoch = object_epoch(p);
    return (tslab_epoch){ epoch == &epoch_process ? 0 : epoch_value(epoch) };
}

/* Handles. */

TSLAB_API tslab_handle tslab_handle_malloc(tslab_epoch epoch, size_t size, void **p)
{
    tslab_handle handle = { 0 };
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        errno = ENOMEM;
        return handle;
    }
    int status;
    void *object;
    handle.id = handle_alloc(thread, epoch.id, size, &object, &status);
    current_thread_put(thread);
    if (handle.id == 0) {
        errno = failed(status, size);
    } else if (p != NULL) {
        *p = object;
    }
    trace_after_slow();
    return handle;
}

TSLAB_API void *tslab_handle_get(tslab_epoch epoch, tslab_handle handle)
{
    return handle_get(epoch.id, handle.id);
}

TSLAB_API enum tslab_status tslab_handle_free(tslab_epoch epoch, tslab_handle handle)
{
    return handle_free(epoch.id, handle.id) ? TSLAB_OK : TSLAB_STALE;
}

/* Instances. */

TSLAB_API tslab_instance tslab_instance_open(const char *label)
{
    struct thread *thread = current_thread_get();
    const struct scope_options options = { .label = label, .policy = TSLAB_POLICY_RELEASE, .is_instance = true };
    const uint64_t value = thread == NULL ? 0 : scope_open(thread, &options);
    if (thread != NULL) {
        current_thread_put(thread);
    }
    if (value == 0) {
        errno = ENOMEM;
    }
    return (tslab_instance){ value };
}

TSLAB_API tslab_epoch tslab_instance_root(tslab_instance instance)
{
    return (tslab_epoch){ instance_root(instance.id) == NULL ? 0 : instance.id };
}

TSLAB_API enum tslab_status tslab_instance_limit(tslab_instance instance, size_t bytes)
{
    struct epoch *const root = instance_root(instance.id);
    if (root == NULL) {
        return TSLAB_STALE;
    }
    store_plain(&root->own_quota.limit_units, bytes == 0 ? 0 : max_size(bytes >> UNIT_SHIFT, 1));
    return TSLAB_OK;
}

TSLAB_API enum tslab_status tslab_instance_close(tslab_instance instance, tslab_close_flags flags,
                                                 struct tslab_epoch_report *report)
{
    return end_by_hand(BY_INSTANCE, &instance.id, flags, report);
}

/* Units of work. */

TSLAB_API enum tslab_status tslab_work_begin(const char *label)
{
    struct thread *const thread = record_inside();
    return thread == NULL ? TSLAB_NO_MEMORY : work_unit_begin(thread, label);
}

TSLAB_API enum tslab_status tslab_work_end(void)
{
    struct thread *thread = front_current->thread;
    return thread == NULL ? TSLAB_NOT_INSIDE : work_unit_end(thread);
}

TSLAB_API void tslab_work_rotate(void)
{
    work_unit_rotate();
}

TSLAB_API void tslab_work_pause(void)
{
    struct thread *const thread = record_inside();
    if (thread != NULL) {
        scope_pause(thread);
    }
}

TSLAB_API enum tslab_status tslab_work_resume(void)
{
    struct thread *thread = front_current->thread;
    return thread != NULL && scope_resume(thread) ? TSLAB_OK : TSLAB_NOT_INSIDE;
}
