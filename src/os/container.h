/* The memory limit of the container that the process runs in: that of its control group (version 2 or 1), or of a group
 * around it, whichever is closest to being reached.
 *
 * Files are opened once, and then read again and again. They stay open: whoever opens them has a table of descriptors
 * of its own, which ends with it.
 *
 * Threads: one at a time. */
#ifndef TSLAB_OS_CONTAINER_H
#define TSLAB_OS_CONTAINER_H

#include "base/build.h"

#include <stdbool.h>
#include <stdint.h>

struct container {
    uint64_t limit_bytes; /* memory.high, or memory.max if that is lower */
    uint64_t left_bytes;  /* what the processes of that group may still use. Pages of files and the kernel's caches of
                             names do not count as used: the kernel takes them back when it needs memory */
    uint32_t stalled;     /* for how many in 10,000 of the last ten seconds some task waited for memory */
};

/* Where the kernel shows control groups, and the file that tells the process's own. Tests change them. */
extern const char *container_root;
extern const char *container_file;

/* Finds the groups that have a limit, and opens their files. False: there is no limit, or the kernel does not tell. */
bool container_open(void);

/* Closes them. */
void container_close(void);

/* Reads the files that container_open has opened. False: there is no limit any more. */
bool container_look(struct container *container);

#endif
