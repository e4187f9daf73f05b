/* The description of epochs, for the interface and the reports. */
#ifndef TSLAB_API_EPOCHS_H
#define TSLAB_API_EPOCHS_H

#include <tslab/tslab.h>

#include <stdbool.h>

/* Describes at most `capacity` epochs whose index is at least *from, and sets *from behind the last. Returns how many;
 * 0: there are no more. */
size_t epochs_describe(uint32_t *from, struct tslab_epoch_stats *entries, size_t capacity);

/* Describes the first such epoch; false: there is none. In the gate. */
bool epochs_next(uint32_t *from, struct tslab_epoch_stats *entry);

enum { LABELS_TOLD = 20 };

/* The epochs with one label; or, beyond LABELS_TOLD labels, those with all others, and then the label is empty. */
struct label_group {
    char label[32];
    uint64_t live_objects, live_bytes, memory_bytes, oldest_ms;
    uint32_t states[TSLAB_EPOCH_DRAINING + 1]; /* how many epochs are in each state */
    uint32_t labels;                           /* how many there are, at least */
};

/* The group with a rank from 0 on: those with the most memory come first, the others together come last. *collection is
 * the caller's, for all groups of one report. False: there are no more. */
bool epochs_label(uint32_t rank, uint64_t *collection, struct label_group *group);

/* Writes a table of the epochs by label, if there are any, as text. */
void epochs_print(int fd);

#endif
