/* The black box (option blackbox): a file in a directory that the user names, which says who held the memory when a
 * limit was near, for the case that the process does not live to tell.
 *
 * A limit is near when a tenth of it is left, and very near when a 24th is, or when it has refused something and at
 * most half is left. It may be the hard limit of the process, that of its container, or a label's. The container is
 * also near while tasks wait for memory in it. Each rise gets one file: the report when the limit is near begins it,
 * and one when it is very near goes behind it, so that the difference says what grew. The next file comes when more was
 * left meanwhile, by an eighth of the limit, and BOX_PAUSE_MS after the last one of a limit of that kind began. There
 * are BOX_FILES for a process, and a new one takes the place of the oldest.
 *
 * The first thread that sees it writes: one that comes out of a slow allocation, or the keeper. A report is
 * the figures that other processes can ask for, within a bounded time, and a part of the profile, if there is one.
 *
 * Threads: any, outside of all gates and locks. */
#ifndef TSLAB_REPORT_BLACK_BOX_H
#define TSLAB_REPORT_BLACK_BOX_H

#include <stdbool.h>

enum { BOX_FILES = 4, BOX_PAUSE_MS = 10000 };

/* Before there are threads. */
void black_box_start(void);

/* Whether a limit is nearer than it was told, or not near any more. */
bool black_box_is_due(void);

/* Notes that, and writes a report if one is still due. One thread at a time. errno is lost. */
void black_box_write(void);

#endif
