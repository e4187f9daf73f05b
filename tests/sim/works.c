/* Instances, units of work, statistics and limits by label in the world of the simulation: the interface that users
 * call. */
#include "epochs.h"

#include "common/option.h"
#include "common/quota.h"
#include "malloc/current_thread.h"
#include "memory.h"
#include "report/statistics.h"
#include "scheduler.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { LISTED_MAX = EPOCH_RECORDS };

static void open_instance(int number)
{
    const struct label label = epochs_next_label();
    epochs_opened(number, tslab_instance_open(label.text).id);
}

static void open_in_instance(int number, uint64_t instance)
{
    const struct label label = epochs_next_label();
    const struct tslab_epoch_options options = { .label = label.text, .instance = { instance } };
    epochs_opened(number, tslab_epoch_open(&options).id);
}

/* Whether something is alive in an epoch itself, and nobody is about to free it. */
static bool has_objects(uint64_t value)
{
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && !o->leaves && o->epoch == value) {
            return true;
        }
    }
    return false;
}

/* All that was opened in the instance before it is closed ends with it. */
static void close_instance(uint64_t instance)
{
    uint64_t members[EPOCHS_MAX];
    unsigned count = 0;
    for (int number = 0; number < EPOCHS_MAX; number++) {
        const struct epoch *epoch = epochs_named(*epochs_value(number));
        if (epoch != NULL && (load_plain(&epoch->instance) == instance || epoch_value(epoch) == instance)) {
            members[count++] = epoch_value(epoch);
        }
    }
    struct tslab_epoch_report report;
    const int status = tslab_instance_close((tslab_instance){ instance }, 0, &report);
    if (status == TSLAB_BUSY || status == TSLAB_STALE) {
        return;
    }
    if (status != TSLAB_OK) {
        sim_fail("closing an instance says %d", status);
    }
    /* Another thread may still be about to let go of a record that has nothing left. */
    for (unsigned i = 0; i < count; i++) {
        const struct epoch *epoch = epochs_named(members[i]);
        if (epoch != NULL && (epochs_state(epoch) != EPOCH_DRAINING || has_objects(members[i]))) {
            sim_fail("an instance is closed, and an epoch of it is not over");
        }
    }
}

/* Units of work. */

static void push(int actor, uint64_t value)
{
    struct epoch_ledger *ledger = &world.epochs;
    if (ledger->depth[actor] == INSIDE_MAX) {
        sim_fail("scopes are nested too deep");
    }
    ledger->inside[actor][ledger->depth[actor]++] = value;
}

/* A rotation that was done before a unit begins, and after its epoch was opened, has not been missed: unless, under the
 * memory model, nothing orders the one after the other. */
static void check_rotation(int actor, uint64_t value, unsigned rotations)
{
    struct epoch_ledger *ledger = &world.epochs;
    if (ledger->unit_epoch[actor] != value) {
        ledger->unit_epoch[actor] = value;
        ledger->rotated[actor] = ledger->rotations;
    } else if ((option_values[OPTION_EPOCH_POLICY] & ((1 << CHOICE_SHIFT) - 1)) == WORK_MANUAL &&
               !memory_is_watched() && ledger->rotated[actor] != rotations) {
        sim_fail("a unit of T%d begins in an epoch from before a rotation", actor);
    }
}

static void begin_unit(int actor)
{
    const unsigned rotations = world.epochs.rotations;
    const struct thread *thread = front_current->thread;
    const struct hold *before = thread == NULL ? NULL : thread->scope;
    const int status = tslab_work_begin("unit");
    if (status != TSLAB_OK && status != TSLAB_NO_MEMORY) {
        sim_fail("the begin of a unit says %d", status);
    }
    thread = front_current->thread;
    if (thread == NULL || thread->scope == before) {
        return;
    }
    push(actor, scope_value(thread));
    check_rotation(actor, scope_value(thread), rotations);
}

static void end_unit(int actor)
{
    struct epoch_ledger *ledger = &world.epochs;
    const struct thread *thread = front_current->thread;
    const unsigned depth = ledger->depth[actor];
    const bool ends = thread != NULL && thread->work.depth == 1 && thread->work.epoch != 0 && depth > 0 &&
                      ledger->inside[actor][depth - 1] == thread->work.epoch;
    ledger->depth[actor] -= ends;
    const int status = tslab_work_end();
    if (status != TSLAB_OK && (status != TSLAB_NOT_INSIDE || ends)) {
        sim_fail("the end of a unit says %d", status);
    }
}

/* Statistics. */

/* A list, or a look, tells of an epoch that a script had opened before. Under the memory model nothing orders the
 * opening of another thread before this. */
static void check_entry(const struct tslab_epoch_stats *entry, const struct epoch_ledger *before)
{
    const uint32_t id = (uint32_t)(entry->epoch.id & bit_mask(EPOCH_GENERATION_SHIFT));
    if (id <= EPOCH_PROCESS || id >= EPOCH_RECORDS) {
        sim_fail("statistics of no epoch");
    }
    if (!memory_is_watched() && before->label[id] != 0 && before->opened[id] == entry->epoch.id &&
        strtoul(entry->label + 1, NULL, 10) != before->label[id]) {
        sim_fail("statistics of epoch %u have the label %s of another, not e%u", id, entry->label, before->label[id]);
    }
}

static void read_list(void)
{
    struct tslab_epoch_stats entries[LISTED_MAX];
    const struct epoch_ledger before = world.epochs;
    const size_t n = tslab_epoch_list(entries, LISTED_MAX);
    for (size_t i = 0; i < n; i++) {
        check_entry(&entries[i], &before);
        for (size_t j = 0; j < i; j++) {
            if (entries[j].epoch.id == entries[i].epoch.id) {
                sim_fail("an epoch is listed twice");
            }
        }
    }
    for (int number = 0; number < EPOCHS_MAX; number++) {
        const struct epoch *epoch = epochs_named(before.value[number]);
        bool listed = memory_is_watched();
        for (size_t i = 0; i < n; i++) {
            listed |= entries[i].epoch.id == before.value[number];
        }
        if (epoch != NULL && epochs_state(epoch) == EPOCH_OPEN && !listed) {
            sim_fail("epoch %d is open, and not listed", number);
        }
    }
}

static void read_epoch(uint64_t value)
{
    struct tslab_epoch_stats stats;
    const struct epoch_ledger before = world.epochs;
    if (tslab_epoch_stats_get((tslab_epoch){ value }, &stats) == TSLAB_OK) {
        if (stats.epoch.id != value) {
            sim_fail("statistics of another epoch than was asked for");
        }
        check_entry(&stats, &before);
    }
}

static void read_statistics(void)
{
    struct total_figures stats;
    stats_totals(&stats);
    if (stats.epochs_open > EPOCH_RECORDS || stats.thread_records != world_record_count ||
        stats.dirty_bytes % UNIT_BYTES != 0 || stats.live_bytes > UNITS_MAX * UNIT_BYTES) {
        sim_fail("statistics say what cannot be");
    }
    for (int number = 0; number < EPOCHS_MAX; number++) {
        if (*epochs_value(number) != 0) {
            read_epoch(*epochs_value(number));
        }
    }
    read_list();
}

/* Limits by label. */

static void set_label_limits(int number)
{
    static const char *const lists[] = { "one=1M", "two=2M:one=3M", "three=1M" };
    const char *const list = lists[number];
    struct thread *const thread = current_thread_get();
    if (thread == NULL) {
        return;
    }
    gate_lock(&thread->gate);
    if (!label_limits_set((struct slice){ list, strlen(list) })) {
        sim_fail("the limits %s do not fit", list);
    }
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

/* Each place that is counted has one of the labels, another one than those before it, and is found by it. */
static void read_label_limits(void)
{
    static const char *const labels[] = { "one", "two", "three" };
    struct label_limit limit;
    unsigned seen = 0;
    for (uint32_t place = 0; label_limit_get(place, &limit); place++) {
        unsigned which = 0;
        while (which < COUNT_OF(labels) && label_quota_of(labels[which]) != &label_quotas.labels[place]) {
            which++;
        }
        if (which == COUNT_OF(labels) || strcmp(limit.label, labels[which]) != 0 || (seen >> which & 1) != 0) {
            sim_fail("the limit in place %u has no label of its own", place);
        }
        seen |= 1u << which;
    }
}

bool works_operate(int actor, char what, int number)
{
    switch (what) {
    case 'I':
        open_instance(number);
        return true;
    case 'X':
        open_in_instance(number / 10, *epochs_value(number % 10));
        return true;
    case 'Q':
        close_instance(*epochs_value(number));
        return true;
    case 'W':
        begin_unit(actor);
        return true;
    case 'Y':
        end_unit(actor);
        return true;
    case '!':
        tslab_work_rotate();
        world.epochs.rotations++;
        return true;
    case 'i':
        read_statistics();
        return true;
    case '~':
        set_label_limits(number);
        return true;
    case '_':
        read_label_limits();
        return true;
    default:
        return false;
    }
}
