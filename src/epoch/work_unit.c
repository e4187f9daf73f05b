/* The outermost unit enters the thread's epoch and leaves it. At the end of a unit the policy decides whether the epoch
 * is closed. Then the next unit opens another. */
#include "epoch/work_unit.h"

#include "common/option.h"
#include "epoch/ending.h"
#include "os/fatal.h"
#include "os/os.h"

static atomic_u32 rotations;

void work_unit_rotate(void)
{
    (void)fetch_add_relaxed(&rotations, 1);
}

static void work_unit_close_epoch(struct thread *closer, struct work_unit *work)
{
    invariant(work->epoch != 0);
    (void)ending_close(closer, work->epoch, false, NULL);
    work->epoch = 0;
}

void work_unit_close(struct thread *closer, struct thread *thread)
{
    invariant(thread->scope == NULL);
    thread->work.depth = 0;
    if (thread->work.epoch != 0) {
        work_unit_close_epoch(closer, &thread->work);
    }
}

/* Whether the policy ends the epoch of a thread's units, at the end of a unit. */
static bool is_due(const struct work_unit *work)
{
    const uint64_t policy = option_get(OPTION_EPOCH_POLICY); /* it may change at any time */
    const uint64_t number = option_number_of(policy);
    switch (option_choice_of(policy)) {
    case WORK_PER_REQUEST:
        return true;
    case WORK_BATCH:
        return work->units >= number;
    case WORK_INTERVAL:
        return os_now_ms() - work->opened_ms >= number;
    case WORK_MANUAL:
        return work->rotations != load_relaxed(&rotations);
    case WORK_NEVER:
        break;
    }
    return false;
}

static void work_unit_open_epoch(struct thread *thread, const char *label)
{
    const struct scope_options options = { .label = label, .policy = TSLAB_POLICY_DRAIN, .plain = true };
    struct work_unit *work = &thread->work;
    work->rotations = load_relaxed(&rotations);
    work->epoch = scope_open(thread, &options);
    work->units = 0;
    work->opened_ms = option_choice(OPTION_EPOCH_POLICY) == WORK_INTERVAL ? os_now_ms() : 0;
}

int work_unit_begin(struct thread *thread, const char *label)
{
    struct work_unit *work = &thread->work;
    invariant(work->depth != UINT32_MAX);
    if (work->depth++ > 0) {
        return TSLAB_OK;
    }
    work->scopes = scope_count(thread);
    if (option_choice(OPTION_EPOCH_POLICY) == WORK_NEVER) {
        if (work->epoch != 0) { /* the policy was another one */
            work_unit_close_epoch(thread, work);
        }
        return TSLAB_OK;
    }
    if (work->epoch != 0 && work->rotations != load_relaxed(&rotations)) {
        work_unit_close_epoch(thread, work);
    }
    int status = work->epoch == 0 ? TSLAB_STALE : scope_enter(thread, work->epoch);
    if (status == TSLAB_STALE || status == TSLAB_CLOSED) {
        /* There is no epoch, or the program has closed it by hand. */
        work_unit_open_epoch(thread, label);
        status = work->epoch == 0 ? TSLAB_NO_MEMORY : scope_enter(thread, work->epoch);
    }
    return status >= 0 ? TSLAB_OK : TSLAB_NO_MEMORY;
}

void work_unit_advanced(struct thread *thread, uint64_t before, uint64_t value)
{
    struct work_unit *work = &thread->work;
    if (work->epoch == before && work->depth > 0 && scope_inside(thread, value) != NULL) {
        work->epoch = value;
    }
}

/* Leaves the epoch of the outermost unit, if the thread is still inside. A unit may have had no memory for its scope,
 * or the program may have left the epoch by hand. False: the thread has entered another epoch in the unit and not left
 * it. */
static bool work_unit_leave_epoch(struct thread *thread, const struct work_unit *work)
{
    const uint32_t scopes = scope_count(thread);
    return scopes <= work->scopes || (scopes == work->scopes + 1 && scope_leave(thread, work->epoch) == TSLAB_OK);
}

int work_unit_end(struct thread *thread)
{
    struct work_unit *work = &thread->work;
    if (work->depth == 0 || (work->depth == 1 && !work_unit_leave_epoch(thread, work))) {
        return TSLAB_NOT_INSIDE;
    }
    if (work->depth == 1 && work->epoch != 0) {
        work->units++;
        if (is_due(work)) {
            work_unit_close_epoch(thread, work);
        }
    }
    work->depth--;
    counter_add(&thread->counters.work_units, work->depth == 0);
    return TSLAB_OK;
}
