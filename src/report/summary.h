/* The summary: how much memory the process has, what for, and who holds it. docs/statistics.md describes the columns.
 *
 * Threads: any. */
#ifndef TSLAB_REPORT_SUMMARY_H
#define TSLAB_REPORT_SUMMARY_H

#include <stdbool.h>

/* Writes the summary as text, in lines of at most 80 columns. False: a part of it was lost, and so is all behind it. */
bool summary_print(int fd);

#endif
