/* Descriptions of epochs, for the interface and the reports.
 *
 * Threads: any. The functions enter the gate themselves. */
#ifndef TSLAB_REPORT_EPOCH_LIST_H
#define TSLAB_REPORT_EPOCH_LIST_H

#include "base/build.h"

#include <tslab/tslab.h>

#include "common/figures.h"

#include <stdbool.h>

/* Describes the first epoch whose index is at least *from, and sets *from behind it. False: there are no more. */
bool epochs_describe(uint32_t *from, struct tslab_epoch_stats *entry);

enum { LABELS_TOLD = 20 };

/* The epochs with one label. Beyond LABELS_TOLD labels, one group has the epochs with all other labels, and its label
 * is empty. */
struct label_group {
    char label[32];
    LABEL_FIGURES(FIGURE_MEMBER)
};

/* The group with this rank. Rank 0 has the most memory, and the group of all other labels comes last. *collection
 * belongs to the caller and is the same variable for all groups of one report. False: there are no more. */
bool epochs_label(uint32_t rank, uint64_t *collection, struct label_group *group);

/* The epochs with this label. All figures are 0: there are none. False: there is no memory for the thread's record. */
bool epochs_with_label(const char *label, struct label_group *group);

#endif
