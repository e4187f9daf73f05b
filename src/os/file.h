/* Files, by system calls alone: libc's open, read, write and close are cancellation points, and a thread that is
 * cancelled in the middle of an operation of ours would end with its locks held. And a sanitizer's versions of libc's
 * functions fail before the sanitizer has started. errno is left alone.
 *
 * Threads: any. Nothing allocates. */
#ifndef TSLAB_OS_FILE_H
#define TSLAB_OS_FILE_H

#include "base/bits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the start of a file of the kernel's into a buffer as a string. Returns its length; 0: the file is empty, or
 * cannot be read. */
size_t os_read_file(const char *path, char *buffer, size_t bytes);

/* Opens a file of the kernel's for os_read_again, which reads the start of what it says now. Never waits. -1: that is
 * refused, or no regular file is there. */
int os_open_to_read(const char *path);

/* Reads bytes of a file from an offset on. Returns how many; 0: none are there, or they cannot be read. */
size_t os_read_at(int fd, uint64_t offset, void *buffer, size_t bytes);
size_t os_read_again(int fd, char *buffer, size_t bytes);

/* The decimal number behind the first `key` in a text, and behind blanks. False: there is none, and *number is 0. */
bool os_number_behind(const char *text, const char *key, uint64_t *number);

/* Copies a file of the kernel's to a descriptor, and stops after a read that reaches `most` bytes. False when it could
 * not. */
bool os_copy_file(const char *path, int fd, uint64_t most);

/* When the regular file with this name was last written to, in ns. 0: there is none. UINT64_MAX: there is something
 * else.
 */
uint64_t os_file_written_ns(const char *path);

/* A file behind a descriptor, whatever its number. */
struct os_file {
    uint64_t device, inode, bytes;
    uint32_t owner, mode;
    uint64_t names;
};

/* False: there is no such descriptor. */
bool os_file_of(int fd, struct os_file *file);

/* How long a file may become: the kernel raises a signal at a write beyond it. UINT64_MAX: there is no limit, or the
 * kernel does not tell. */
uint64_t os_file_bytes_most(void);

/* A second descriptor of a file, with a high number, for this program alone. -1: there is none to be had. */
int os_duplicate(int fd);

/* Opens a file to append to it, for this program alone, and makes it if it is not there, for this user alone. Follows
 * no link at the end of the path, and appends to nothing that others may have put there: only to a regular file of the
 * effective user's without a second name, to a FIFO of that user's, or to a character device. -1: that is refused, and
 * *why is the number of an error, or OS_NOT_OURS. */
enum { OS_NOT_OURS = -1 };
int os_open_to_append(const char *path, int *why);
void os_close(int fd);

/* The meaning of such a number. */
const char *os_why(int why);

/* Writes all of the text. False when it could not: the rest is lost, silently, for there is nobody to tell. Raises no
 * signal where the reader is gone or a file may not grow. It waits for a reader that is slow, unless the thread never
 * waits: then it gives up when there has been no room for WRITE_MS_MOST. */
bool os_write(int fd, const char *text, size_t length);
enum { WRITE_MS_MOST = 100 };
extern per_thread bool os_never_waits;

#endif
