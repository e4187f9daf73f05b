/* Files. A failing write raises no signal. */
#include "os/file.h"

#include "base/bits.h"
#include "os/newer.h"
#include "os/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

/* In a mount that somebody else has made, anything may stand in the place of a file of the kernel's: a pipe, whose open
 * would wait for a writer, or a device. */
noinline int os_open_to_read(const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const int fd = (int)SYSTEM_CALL(openat, AT_FDCWD, path, flags);
    struct os_file file;
    if (fd >= 0 && os_file_of(fd, &file) && S_ISREG(file.mode)) {
        return fd;
    }
    if (fd >= 0) {
        os_close(fd);
    }
    return -1;
}

noinline size_t os_read_at(int fd, uint64_t offset, void *buffer, size_t bytes)
{
    const long length = SYSTEM_CALL(pread64, fd, buffer, bytes, offset);
    return length < 0 ? 0 : (size_t)length;
}

size_t os_read_again(int fd, char *buffer, size_t bytes)
{
    const size_t length = os_read_at(fd, 0, buffer, bytes - 1);
    buffer[length] = 0;
    return length;
}

size_t os_read_file(const char *path, char *buffer, size_t bytes)
{
    const int fd = os_open_to_read(path);
    buffer[0] = 0;
    if (fd < 0) {
        return 0;
    }
    const size_t length = os_read_again(fd, buffer, bytes);
    os_close(fd);
    return length;
}

bool os_number_behind(const char *text, const char *key, uint64_t *number)
{
    const char *at = strstr(text, key);
    at = at == NULL ? "" : at + strlen(key);
    at += strspn(at, " \t");
    const char *const start = at;
    *number = 0;
    for (; *at >= '0' && *at <= '9' && *number <= UINT64_MAX / 16; at++) {
        *number = *number * 10 + (uint64_t)(*at - '0');
    }
    return at != start;
}

uint64_t os_file_written_ns(const char *path)
{
    struct stat found = { 0 };
    const bool is_there = SYSTEM_CALL(newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) == 0;
    return !is_there                ? 0
           : S_ISREG(found.st_mode) ? (uint64_t)found.st_mtim.tv_sec * 1000000000 + (uint64_t)found.st_mtim.tv_nsec
                                    : UINT64_MAX;
}

bool os_copy_file(const char *path, int fd, uint64_t most)
{
    char part[1024];
    long length = -1;
    const int from = os_open_to_read(path);
    if (from >= 0) {
        while ((length = SYSTEM_CALL(read, from, part, sizeof part)) > 0 && os_write(fd, part, (size_t)length) &&
               (uint64_t)length < most) {
            most -= (uint64_t)length;
        }
        os_close(from);
    }
    return length == 0;
}

bool os_file_of(int fd, struct os_file *file)
{
    struct stat found = { 0 };
    const bool is_open = SYSTEM_CALL(fstat, fd, &found) == 0;
    *file = (struct os_file){ found.st_dev, found.st_ino,  (uint64_t)found.st_size,
                              found.st_uid, found.st_mode, found.st_nlink };
    return is_open;
}

int os_duplicate(int fd)
{
    enum { NUMBER_LEAST = 100 };
    const long second = SYSTEM_CALL(fcntl, fd, F_DUPFD_CLOEXEC, NUMBER_LEAST);
    return second < 0 ? -1 : (int)second;
}

static bool is_of_this_user(int fd)
{
    struct os_file file;
    const bool owned = os_file_of(fd, &file) && file.owner == (uint32_t)SYSTEM_CALL(geteuid, 0);
    return S_ISCHR(file.mode) || (S_ISFIFO(file.mode) && owned) || (S_ISREG(file.mode) && owned && file.names <= 1);
}

/* Without O_NONBLOCK, a pipe that nobody reads would hold the program up. */
int os_open_to_append(const char *path, int *why)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
    const int fd = (int)SYSTEM_CALL(openat, AT_FDCWD, path, flags, S_IRUSR | S_IWUSR);
    *why = fd < 0 ? -fd : 0;
    if (fd >= 0 && !is_of_this_user(fd)) {
        os_close(fd);
        *why = OS_NOT_OURS;
    }
    return *why == 0 ? fd : -1;
}

const char *os_why(int why)
{
    static const struct {
        int number;
        const char *words;
    } meanings[] = {
        { OS_NOT_OURS, "it is no file of this user's alone" },
        { ELOOP, "it is a symbolic link" },
        { ENOENT, "its directory is not there" },
        { ENOTDIR, "its directory is a file" },
        { EISDIR, "it is a directory" },
        { EACCES, "this user may not write there" },
        { EPERM, "this user may not write there" },
        { EROFS, "its file system is read-only" },
        { ENOSPC, "its file system has no room" },
        { EDQUOT, "this user has no room there" },
        { EOPNOTSUPP, "its file system cannot reserve room" },
        { EFBIG, "a limit forbids files of that length" },
        { ENAMETOOLONG, "its name is too long" },
        { ENXIO, "nobody reads the pipe" },
        { EMFILE, "the process has no descriptor left" },
        { ENFILE, "the system has no descriptor left" },
        { ENOMEM, "the system is short of memory" },
    };
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].number == why) {
            return meanings[i].words;
        }
    }
    return "the system refuses it";
}

void os_close(int fd)
{
    (void)SYSTEM_CALL(close, fd);
}

uint64_t os_file_bytes_most(void)
{
    struct rlimit most = { 0 };
    return SYSTEM_CALL(prlimit64, 0, RLIMIT_FSIZE, NULL, &most) == 0 ? most.rlim_cur : UINT64_MAX;
}

per_thread bool os_never_waits;

/* Whether there is room, at last, for as much as a pipe takes at once. */
static bool has_room(int fd)
{
    const struct timespec most = { .tv_nsec = WRITE_MS_MOST * 1000000L };
    struct pollfd wanted = { .fd = fd, .events = POLLOUT };
    return SYSTEM_CALL(ppoll, &wanted, 1, &most, NULL, 0) == 1 && (wanted.revents & POLLOUT) != 0;
}

/* Another writer may take the room first. Where the kernel knows no write that does not wait, this one then waits. */
static long write_at_once(int fd, const char *text, size_t length)
{
    const struct iovec part = { (void *)(uintptr_t)text, min_size(length, PIPE_BUF) };
    if (!has_room(fd)) {
        return -EIO;
    }
    const long n = SYSTEM_CALL(pwritev2, fd, &part, 1, -1, -1, RWF_NOWAIT);
    return n != -EOPNOTSUPP && n != -EINVAL && n != -ENOSYS ? n : SYSTEM_CALL(write, fd, part.iov_base, part.iov_len);
}

static bool write_all(int fd, const char *text, size_t length)
{
    enum { TRIES = 16 };
    struct os_file file;
    const bool never_waits = os_never_waits && os_file_of(fd, &file) && !S_ISREG(file.mode);
    unsigned tries = 0;
    while (length > 0) {
        const long n = never_waits ? write_at_once(fd, text, length) : SYSTEM_CALL(write, fd, text, length);
        if (n == -EINTR || (never_waits && n == -EAGAIN && ++tries < TRIES)) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        text += n;
        length -= (size_t)n;
    }
    return true;
}

bool os_write(int fd, const char *text, size_t length)
{
    /* A failing write may raise a signal that ends the program by default. The signal is blocked during the write and
     * consumed afterwards, unless one was pending before. */
    const uint64_t deadly = (uint64_t)1 << (SIGPIPE - 1) | (uint64_t)1 << (SIGXFSZ - 1);
    const struct timespec no_time = { 0 };
    uint64_t waiting = 0;
    uint64_t before;
    (void)SYSTEM_CALL(rt_sigpending, &waiting, sizeof waiting);
    const uint64_t held = deadly & ~waiting;
    const bool holds = SYSTEM_CALL(rt_sigprocmask, SIG_BLOCK, &held, &before, sizeof before) == 0;
    const bool written = write_all(fd, text, length);
    if (holds) {
        while (!written && SYSTEM_CALL(rt_sigtimedwait, &held, NULL, &no_time, sizeof held) > 0) {
        }
        (void)SYSTEM_CALL(rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    }
    return written;
}
