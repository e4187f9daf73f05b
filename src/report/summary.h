/* What a person asks first: how much memory the process has, what for, and who holds it. docs/statistics.md describes
 * the columns.
 *
 * Threads: any. */
#ifndef TSLAB_REPORT_SUMMARY_H
#define TSLAB_REPORT_SUMMARY_H

/* Writes the summary as text, in lines of at most 80 columns. */
void summary_print(int fd);

#endif
