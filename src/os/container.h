/* The memory limit of the container that the process runs in: that of its control group (version 2 or 1), or of a group
 * around it, whichever is closest to being reached.
 *
 * Threads: one at a time. Each look takes some ten microseconds. */
#ifndef TSLAB_OS_CONTAINER_H
#define TSLAB_OS_CONTAINER_H

#include "base/bits.h"

#include <stdbool.h>
#include <stdint.h>

struct container {
    uint64_t limit_bytes; /* memory.high, or memory.max if that is lower; 0: there is no limit */
    uint64_t used_bytes;  /* of the group that has the limit, also by other processes */
    uint32_t stalled;     /* for how many in 10,000 of the last ten seconds some task waited for memory */
};

/* Where the kernel shows control groups, and the file that tells the process's own. Tests change them. */
extern const char *container_root;
extern const char *container_file;

/* False: the kernel does not tell, or there is no limit. */
bool container_look(struct container *container);

#endif
