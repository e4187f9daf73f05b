/* The description of epochs, for the interface and the reports. */
#ifndef TSLAB_API_EPOCHS_H
#define TSLAB_API_EPOCHS_H

#include <tslab/tslab.h>

/* Describes at most `capacity` epochs whose index is at least *from, and sets *from behind the last. Returns how many;
 * 0: there are no more. */
size_t epochs_describe(uint32_t *from, struct tslab_epoch_stats *entries, size_t capacity);

/* Writes a table of all epochs, if there are any, as text. */
void epochs_print(int fd);

#endif
