/* Descriptions of epochs for users: of one by its value, or of all that are not FREE, one at a time. */
#include "report/epoch_list.h"

#include "audit/census.h"
#include "epoch/survivors.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/epoch_record.h"

#include <string.h>

/* Describes an epoch. False: it is gone. */
static bool epoch_describe(struct epoch *epoch, struct tslab_epoch_stats *stats)
{
    const uint64_t word = load_seq_cst(&epoch->word), value = epoch_generation(word) | epoch->id;
    const enum epoch_state state = epoch_word_state(word);
    struct survivors sum;
    survivors_count(epoch, &sum);
    *stats = (struct tslab_epoch_stats){
        .epoch.id = value,
        .parent.id = load_plain(&epoch->parent),
        .instance.id = load_plain(&epoch->is_instance) != 0 ? value : load_plain(&epoch->instance),
        .policy = (enum tslab_policy)load_plain(&epoch->policy),
        .state = state == EPOCH_OPEN       ? TSLAB_EPOCH_OPEN
                 : state == EPOCH_DRAINING ? TSLAB_EPOCH_DRAINING
                                           : TSLAB_EPOCH_CLOSING,
        .inside = epoch_threads_inside(epoch),
        .age_ms = os_ms_since(load_plain(&epoch->opened_ms)),
        .closed_ms = load_plain(&epoch->closed_ms) == 0 ? 0 : os_ms_since(load_plain(&epoch->closed_ms)),
        .live_objects = sum.objects,
        .live_bytes = sum.bytes,
        .memory_bytes = survivors_memory(&sum),
        .recycled_runs = counter_get(&epoch->recycled_runs),
        .slab_bytes = sum.slab_bytes,
        .chunk_bytes = sum.chunk_bytes,
        .large_bytes = sum.large_bytes,
        .cached_bytes = sum.cached_bytes,
        .peak_bytes = max_size((uint64_t)counter_get(&epoch->peak_units) << UNIT_SHIFT, survivors_memory(&sum)),
        .resident_bytes = sum.resident_bytes,
        .limit_bytes = (uint64_t)load_plain(&epoch->limit_units) << UNIT_SHIFT,
        .refusals = counter_get(&epoch->refusals),
    };
    (void)epoch_label(epoch, stats->label);
    return epoch_word_state(word) != EPOCH_FREE && epoch_same_generation(word, load_seq_cst(&epoch->word)) &&
           epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE;
}

TSLAB_API enum tslab_status tslab_epoch_stats_get(tslab_epoch value, struct tslab_epoch_stats *stats)
{
    struct epoch *epoch = epoch_by_value(value.id);
    if (epoch == NULL || stats == NULL) {
        return epoch == NULL ? TSLAB_STALE : TSLAB_INVALID;
    }
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    gate_lock(&thread->gate);
    struct tslab_epoch_stats found;
    const bool described = epoch_describe(epoch, &found) && found.epoch.id == value.id;
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    if (!described) {
        return TSLAB_STALE;
    }
    *stats = found;
    return TSLAB_OK;
}

/* The first record from an index on that is not FREE. The index receives the one behind it. NULL: there are no more. */
static struct epoch *next_not_free(uint32_t *from)
{
    struct epoch *epoch = epoch_next(from);
    while (epoch != NULL && epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_FREE) {
        epoch = epoch_next(from);
    }
    return epoch;
}

/* As epochs_describe, in the gate. */
static bool epochs_next(uint32_t *from, struct tslab_epoch_stats *entry)
{
    for (struct epoch *epoch; (epoch = next_not_free(from)) != NULL;) {
        if (epoch_describe(epoch, entry)) {
            return true;
        }
    }
    return false;
}

bool epochs_describe(uint32_t *from, struct tslab_epoch_stats *entry)
{
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return false;
    }
    gate_lock(&thread->gate);
    const bool found = epochs_next(from, entry);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return found;
}

TSLAB_API size_t tslab_epoch_list(struct tslab_epoch_stats *entries, size_t capacity)
{
    uint32_t from = 0;
    size_t n = 0;
    while (n < capacity && epochs_describe(&from, &entries[n])) {
        n++;
    }
    invariant(n <= capacity);
    size_t more = 0;
    /* Only a full array leaves epochs untold. Where there was room, epochs that are new since the look are not counted,
     * because they have no entry. */
    while (n == capacity && next_not_free(&from) != NULL) {
        more++;
    }
    return n + more;
}

/* Epochs by label: a program that forgets to close epochs forgets thousands, of a few kinds.
 *
 * One table serves all reports, so that none needs memory or much stack. A report takes the groups out one by one, so
 * it holds no lock while it writes. If another report has filled the table meanwhile, the rest is of that later moment.
 */

/* The labels beyond LABELS_TOLD are told together. */
_Static_assert((int)LABELS_KNOWN > (int)LABELS_TOLD, "more are known than told");

/* Taken in the gate. */
static struct lock table_lock = LOCK_INIT(RANK_LABELS);

static struct {
    uint64_t collection;                         /* how often the table was filled */
    uint32_t known, told;                        /* the number of groups, and of those that reports tell */
    struct label_group groups[LABELS_KNOWN + 1]; /* the last group has the epochs whose label found no place */
} label_table;

static void add_group(struct label_group *sum, const struct label_group *group)
{
#define ADD_TO_GROUP(name, ...) sum->name += group->name;
    const uint64_t oldest_ms = max_size(sum->oldest_ms, group->oldest_ms);
    LABEL_FIGURES(ADD_TO_GROUP)
    sum->oldest_ms = oldest_ms;
    sum->label[0] = 0;
}

static struct label_group *group_of(const char *label)
{
    uint32_t at = 0;
    while (at < label_table.known && at < LABELS_KNOWN && strcmp(label_table.groups[at].label, label) != 0) {
        at++;
    }
    struct label_group *group = &label_table.groups[at];
    invariant(at <= label_table.known && at <= LABELS_KNOWN);
    if (at == label_table.known) {
        label_table.known++;
        memset(group, 0, sizeof *group);
        memcpy(group->label, label, at < LABELS_KNOWN ? strlen(label) : 0);
    }
    return group;
}

static void add_epoch(struct label_group *group, const struct tslab_epoch_stats *stats)
{
    invariant(stats->state <= TSLAB_EPOCH_DRAINING);
    group->labels = 1;
    group->epochs++;
    group->open += stats->state == TSLAB_EPOCH_OPEN;
    group->closing += stats->state == TSLAB_EPOCH_CLOSING;
    group->draining += stats->state == TSLAB_EPOCH_DRAINING;
    group->oldest_ms = max_size(group->oldest_ms, stats->age_ms);
    group->live_objects += stats->live_objects;
    group->live_bytes += stats->live_bytes;
    group->memory_bytes += stats->memory_bytes;
    group->peak_bytes += stats->peak_bytes;
    group->resident_bytes += stats->resident_bytes;
    group->refused += stats->refusals;
}

/* Moves the groups with the most memory to the front, and makes one group of all beyond those that are told. */
static void order_groups(void)
{
    struct label_group *const groups = label_table.groups;
    for (uint32_t i = 0; i < label_table.known && i < LABELS_TOLD; i++) {
        uint32_t largest = i;
        for (uint32_t k = i + 1; k < label_table.known && k < LABELS_KNOWN; k++) {
            largest = groups[k].memory_bytes > groups[largest].memory_bytes ? k : largest;
        }
        const struct label_group group = groups[i];
        groups[i] = groups[largest];
        groups[largest] = group;
    }
    for (uint32_t i = LABELS_TOLD + 1; i < label_table.known; i++) {
        add_group(&groups[LABELS_TOLD], &groups[i]);
    }
    label_table.told = (uint32_t)min_size(label_table.known, LABELS_TOLD + 1);
}

static void labels_collect(void)
{
    struct tslab_epoch_stats stats;
    label_table.known = 0;
    for (uint32_t from = 0; !census_is_over() && epochs_next(&from, &stats);) {
        add_epoch(group_of(stats.label), &stats);
    }
    order_groups();
    label_table.collection++;
}

bool epochs_label(uint32_t rank, uint64_t *collection, struct label_group *group)
{
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return false;
    }
    gate_lock(&thread->gate);
    lock_acquire(&table_lock);
    if (rank == 0 || *collection != label_table.collection) {
        labels_collect();
        *collection = label_table.collection;
    }
    const bool found = rank < label_table.told;
    if (found) {
        *group = label_table.groups[rank];
    }
    lock_release(&table_lock);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return found;
}

bool epochs_with_label(const char *label, struct label_group *group)
{
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return false;
    }
    struct tslab_epoch_stats stats;
    memset(group, 0, sizeof *group);
    gate_lock(&thread->gate);
    for (uint32_t from = 0; epochs_next(&from, &stats);) {
        if (strcmp(stats.label, label) == 0) {
            add_epoch(group, &stats);
        }
    }
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return true;
}
