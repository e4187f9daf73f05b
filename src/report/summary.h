/* What a person asks first: how much memory the process has, what for, and who holds it. docs/statistics.md describes
 * the columns.
 *
 * Threads: any. */
#ifndef TSLAB_REPORT_SUMMARY_H
#define TSLAB_REPORT_SUMMARY_H

#include "base/build.h"

#include <stdint.h>

struct tslab_accounts;

/* What the RSS is a sum of, beside what is not the library's. */
enum term { TERM_LIVE, TERM_WASTE, TERM_CACHES, TERM_RETAINED, TERM_METADATA, TERMS };

/* The terms: the accounts of each, without the bytes that have no pages. */
void summary_terms(const struct tslab_accounts *accounts, uint64_t sums[TERMS]);

/* Writes the summary as text, in lines of at most 80 columns. */
void summary_print(int fd);

#endif
