/* The accounts of memory, and the size classes, as text.
 *
 * Threads: any. */
#ifndef TSLAB_REPORT_ACCOUNTS_TEXT_H
#define TSLAB_REPORT_ACCOUNTS_TEXT_H

#include "common/size_class.h"

#include <stdint.h>

/* Writes the accounts that are not empty as text. */
void accounts_print(int fd);

/* Writes a table of the size classes that waste most. */
void classes_print(int fd);

/* The class with the most bytes. CLASS_NONE: there are none. */
unsigned class_with_most(const uint64_t bytes[CLASS_LIMIT]);

#endif
