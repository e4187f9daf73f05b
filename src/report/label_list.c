/* Epochs by label, for reports: a program that forgets to close epochs forgets thousands, of a few kinds.
 *
 * One table serves all reports, so that none needs memory or much stack. A report takes the groups out one by one, so
 * it holds no lock while it writes. If another report has filled the table meanwhile, the rest is of that later moment.
 */
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "report/epoch_list.h"

#include <string.h>

/* The labels beyond LABELS_TOLD are told together. */
_Static_assert((int)LABELS_KNOWN > (int)LABELS_TOLD, "more are known than told");

/* Taken in the gate. */
static struct lock table_lock = LOCK_INIT(RANK_LABELS);

static struct {
    uint64_t collection;                         /* how often the table was filled */
    uint32_t known;                              /* the number of groups that have a label of their own */
    uint32_t told;                               /* the number of groups that reports tell */
    struct label_group groups[LABELS_KNOWN + 1]; /* the last group has the epochs whose label found no place */
} label_table;

static void add_group(struct label_group *sum, const struct label_group *group)
{
#define ADD_TO_GROUP(name, ...) sum->name += group->name;
    const uint64_t oldest_ms = max_size(sum->oldest_ms, group->oldest_ms);
    LABEL_FIGURES(ADD_TO_GROUP)
    sum->oldest_ms = oldest_ms;
}

static struct label_group *group_of(const char *label)
{
    uint32_t at = 0;
    while (at < label_table.known && strcmp(label_table.groups[at].label, label) != 0) {
        at++;
    }
    struct label_group *group = &label_table.groups[at];
    invariant(at <= label_table.known && label_table.known <= LABELS_KNOWN);
    if (at == label_table.known && at < LABELS_KNOWN) {
        label_table.known++;
        memset(group, 0, sizeof *group);
        memcpy(group->label, label, strlen(label));
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
}

/* Moves the groups with the most memory to the front, and makes one group of all beyond those that are told. */
static void order_groups(void)
{
    struct label_group *const groups = label_table.groups;
    for (uint32_t i = 0; i < label_table.known && i < LABELS_TOLD; i++) {
        uint32_t largest = i;
        for (uint32_t k = i + 1; k < label_table.known; k++) {
            largest = groups[k].memory_bytes > groups[largest].memory_bytes ? k : largest;
        }
        const struct label_group group = groups[i];
        groups[i] = groups[largest];
        groups[largest] = group;
    }
    label_table.told = label_table.known;
    if (label_table.known > LABELS_TOLD) {
        label_table.told = LABELS_TOLD + 1;
        struct label_group *rest = &groups[LABELS_TOLD];
        for (uint32_t i = LABELS_TOLD + 1; i < label_table.known; i++) {
            add_group(rest, &groups[i]);
        }
        add_group(rest, &groups[LABELS_KNOWN]);
        if (rest->labels > 1) {
            rest->label[0] = 0;
        }
    }
    invariant(label_table.told <= LABELS_TOLD + 1 && label_table.told <= label_table.known);
}

static void labels_collect(void)
{
    struct tslab_epoch_stats stats;
    label_table.known = 0;
    memset(&label_table.groups[LABELS_KNOWN], 0, sizeof label_table.groups[LABELS_KNOWN]);
    for (uint32_t from = 0; epochs_next(&from, &stats);) {
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
