/* Memory that other processes may read: a file without a name (a memfd), mapped here. The kernel lets a process open it
 * through /proc/PID/fd if it may read what that process is doing: the same user may, and root. Nobody else can change
 * the file, and it ends with the last process that has it.
 *
 * The mapping alone would do for this process. Its descriptor is kept because others find the file by it. Programs that
 * close all descriptors close that one, too, so it is told by device and inode, not by its number. It is closed in
 * programs that this one starts. A child of a fork has the memory and the descriptor of its parent.
 *
 * Threads: one at a time for each. Nothing allocates. */
#ifndef TSLAB_OS_SHARED_MEMORY_H
#define TSLAB_OS_SHARED_MEMORY_H

#include "os/os.h"

struct shared {
    char *start; /* NULL: there is none */
    size_t bytes;
    int fd;
    struct os_file file;
};

/* Makes it, of zeros, in memory that is there from now on. False: the system refuses. */
bool shared_make(struct shared *shared, const char *name, size_t bytes);

/* Whether others can still find it. */
bool shared_is_found(const struct shared *shared);

/* Whether a process holds a lock to read the file: that is how readers say that they look at it. */
bool shared_is_watched(const struct shared *shared);

/* Gives it back, in this process. */
void shared_drop(struct shared *shared);

#endif
