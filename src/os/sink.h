/* Where reports go: to a file that the user names, or to the standard error that the program was started with.
 *
 * Many programs close their standard error before they end, or put another file in its place. So the sink keeps a
 * second descriptor of it, if it is told to at the start. Programs that close all descriptors close that one, too, and
 * may then open other files with its number: the sink writes only to the file that it was kept for.
 *
 * Threads: sink_keep_stderr before other threads run; all else from any. Nothing allocates. */
#ifndef TSLAB_OS_SINK_H
#define TSLAB_OS_SINK_H

#include "base/bits.h"

#include <stdint.h>

/* Returns the descriptor by which the standard error will be found. */
int sink_keep_stderr(void);

/* The kinds of output. */
enum sink_kind { SINK_STATISTICS, SINK_PROFILE, SINK_BLACK_BOX };

/* Opens the file of this pattern, to append to it (os_open_to_append): in it, %p stands for the number of the process,
 * %e for the name of the program, %n for the number of the report, %% for a percent sign. Where there is no pattern, or
 * the file cannot be opened, it is the standard error. Returns a descriptor; -1: there is nothing to write to. */
int sink_open(enum sink_kind kind, const char *pattern, uint32_t number);

/* The same for a file alone. -1: it cannot be opened. Both say so on the standard error, once for each kind. */
int sink_open_file(enum sink_kind kind, const char *pattern, uint32_t number);

/* Of so many files of a pattern, by %n from 0 on, the number of one that is not there, or was written to longest ago.
 */
uint32_t sink_oldest(const char *pattern, uint32_t count);

/* Ends the use of such a descriptor. */
void sink_close(int fd);

#endif
