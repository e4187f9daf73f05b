/* Statistics as JSON. docs/statistics.md describes the fields.
 *
 * Threads: any, outside of all gates and locks. */
#ifndef TSLAB_REPORT_REPORT_H
#define TSLAB_REPORT_REPORT_H

#include <stdbool.h>

/* Writes what other processes ask for again and again: no threads, no single epochs, and of classes only what counts
 * tell, so its length is bounded. False: it could not all be written. */
bool report_figures(int fd);

#endif
