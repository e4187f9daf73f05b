/* Memory that other processes may read, or also write: a file without a name (a memfd), mapped here. The kernel lets a
 * process open it through /proc/PID/fd if it may read what that process is doing: the same user may, and root. It ends
 * with the last process that has it. A board is written here alone. An inbox is written by all who may open it, so
 * nothing in it is to be trusted.
 *
 * The mapping alone would do for this process. Its descriptor is kept because others find the file by it. Programs that
 * close all descriptors close that one, too, so it is told by device and inode, not by its number. It is closed in
 * programs that this one starts. A child of a fork has the memory and the descriptor of its parent.
 *
 * Threads: one at a time for each. Nothing allocates. */
#ifndef TSLAB_OS_SHARED_MEMORY_H
#define TSLAB_OS_SHARED_MEMORY_H

#include "base/atomic.h"
#include "os/os.h"

struct shared {
    char *start; /* NULL: there is none */
    size_t bytes;
    int fd;
    struct os_file file;
};

/* Makes a board, of zeros, in memory that is there from now on. False: the system refuses. */
bool shared_make(struct shared *shared, const char *name, size_t bytes);

/* The same for an inbox. Where there is one already, of the parent or one that is not found any more, the new one takes
 * its place in memory, so that threads may look at it at any time. */
bool shared_make_inbox(struct shared *shared, const char *name, size_t bytes);

/* Whether others can still find it. */
bool shared_is_found(const struct shared *shared);

/* Whether a process holds a lock to read the file: that is how readers say that they look at it. */
bool shared_is_watched(const struct shared *shared);

/* Whether a process holds a lock to write the file, and which one, as the kernel knows it. 0: this process cannot see
 * it.
 */
bool shared_is_held(const struct shared *shared, uint32_t *process);

/* Sleeps while a word of shared memory is what is expected, for at most so many milliseconds; and wakes all who do, in
 * all processes. */
void shared_wait(atomic_u32 *word, uint32_t expected, uint32_t most_ms);
void shared_wake(atomic_u32 *word);

/* Gives a board back, in this process. */
void shared_drop(struct shared *shared);

#endif
