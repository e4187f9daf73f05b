/* A write beyond the limit on the length of files raises no signal: os_write sees to it, and the head of the file is no
 * longer than any such limit that a program could live with. */
#include "os/request_file.h"

#include "os/fatal.h"
#include "os/newer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int request_file_make(const char *name)
{
    const int saved = errno;
    long fd = syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) { /* before Linux 6.3 */
        fd = syscall(SYS_memfd_create, name, MFD_CLOEXEC);
    }
    if (fd >= 0 && syscall(SYS_fchmod, fd, S_IRUSR | S_IWUSR) != 0) {
        (void)syscall(SYS_close, fd);
        fd = -1;
    }
    errno = saved;
    invariant(fd >= -1);
    return (int)fd;
}

bool request_file_is_locked(int fd, uint32_t *process)
{
    const int saved = errno;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    const bool is_told = syscall(SYS_fcntl, fd, F_GETLK, &lock) == 0;
    errno = saved;
    invariant(fd >= 0);
    *process = is_told && lock.l_type == F_WRLCK && lock.l_pid > 0 ? (uint32_t)lock.l_pid : 0;
    return is_told && lock.l_type == F_WRLCK && lock.l_pid >= 0; /* -1: of no process */
}

bool request_file_put(int fd, uint64_t offset, const void *bytes, size_t count)
{
    const int saved = errno;
    struct rlimit most;
    invariant(fd >= 0 && count != 0);
    const bool fits = getrlimit(RLIMIT_FSIZE, &most) == 0 && offset + count <= most.rlim_cur;
    const bool is_put = fits && syscall(SYS_pwrite64, fd, bytes, count, offset) == (long)count;
    errno = saved;
    return is_put;
}

bool request_file_cut(int fd, uint64_t bytes)
{
    const int saved = errno;
    struct rlimit most;
    invariant(fd >= 0 && bytes != 0);
    const bool fits = getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes <= most.rlim_cur;
    const bool is_cut =
        fits && syscall(SYS_ftruncate, fd, bytes) == 0 && syscall(SYS_lseek, fd, bytes, SEEK_SET) == (long)bytes;
    errno = saved;
    return is_cut;
}
