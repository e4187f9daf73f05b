/* The file through which other processes ask this one for something (report/channel.h): a memfd, which has no name that
 * anybody else could take. It is open in the table of descriptors of one thread alone (os/helper_thread.h), so no child
 * of a fork inherits it, and no code of the program closes it. Others open it through /proc/PID/task/TID/fd. The kernel
 * lets them if they may look into this process, and if the file is theirs to write: the same user without more rights
 * than the process has, and root.
 *
 * Nothing of it is mapped, and all that is read from it may be anything. All functions preserve errno.
 *
 * Threads: the one that has it open. Nothing allocates. */
#ifndef TSLAB_OS_REQUEST_FILE_H
#define TSLAB_OS_REQUEST_FILE_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes one, which is empty. -1: the system refuses. */
int request_file_make(const char *name);

/* Whether a process holds a lock to write the file, and which one. 0: it is outside of this process's namespace. */
bool request_file_is_locked(int fd, uint32_t *process);

/* Writes at an offset. False: not all was written. */
bool request_file_put(int fd, uint64_t offset, const void *bytes, size_t count);

/* Cuts the file off, or makes it longer by zeros, and has os_write append to it. False: the system refuses. */
bool request_file_cut(int fd, uint64_t bytes);

#endif
