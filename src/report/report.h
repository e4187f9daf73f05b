/* Statistics as JSON. docs/statistics.md describes the fields.
 *
 * Threads: any, outside of all gates and locks. */
#ifndef TSLAB_REPORT_REPORT_H
#define TSLAB_REPORT_REPORT_H

#include "base/build.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes what other processes ask for again and again: no threads, no single epochs, and of classes only what counts
 * tell, so its length is bounded. False: it could not all be written. */
bool report_figures(int fd);

/* A limit that is near: whose it is, the label, if it is one's, else "", and what is used of it. */
struct report_limit {
    const char *of, *label;
    uint64_t limit_bytes, used_bytes;
};

/* Writes the same within a bounded time, and the limit. */
void report_near(int fd, const struct report_limit *limit);

#endif
