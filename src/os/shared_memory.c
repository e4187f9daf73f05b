/* The file gets its pages when it is made: a write to a page that is not there would end the program where memory is
 * short. */
#include "os/shared_memory.h"

#include "os/fatal.h"
#include "os/newer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not beyond the limit on files: the kernel would raise a signal. */
static int make_file(const char *name, size_t bytes)
{
    enum { FLAGS = MFD_CLOEXEC | MFD_ALLOW_SEALING };
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < bytes) {
        return -1;
    }
    long fd = syscall(SYS_memfd_create, name, FLAGS | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) {
        fd = syscall(SYS_memfd_create, name, FLAGS);
    }
    if (fd < 0) {
        return -1;
    }
    const int high = os_duplicate((int)fd);
    invariant(high == -1 || high > STDERR_FILENO);
    os_close((int)fd);
    return high;
}

bool shared_make(struct shared *shared, const char *name, size_t bytes)
{
    const int saved = errno;
    const int fd = make_file(name, bytes);
    void *start = MAP_FAILED;
    invariant(shared->start == NULL && bytes % os_page_bytes() == 0);
    if (fd != -1 && syscall(SYS_fallocate, fd, 0, 0L, bytes) == 0 &&
        syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0 && os_file_of(fd, &shared->file)) {
        start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (start != MAP_FAILED) {
        (void)syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
        shared->start = start;
        shared->bytes = bytes;
        shared->fd = fd;
    } else if (fd != -1) {
        os_close(fd);
    }
    invariant((shared->start != NULL) == (start != MAP_FAILED));
    errno = saved;
    return start != MAP_FAILED;
}

bool shared_is_found(const struct shared *shared)
{
    struct os_file file;
    invariant(shared->start != NULL);
    return os_file_of(shared->fd, &file) && file.device == shared->file.device && file.inode == shared->file.inode;
}

bool shared_is_watched(const struct shared *shared)
{
    const int saved = errno;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    invariant(shared->start != NULL);
    const bool is_told = syscall(SYS_fcntl, shared->fd, F_OFD_GETLK, &lock) == 0;
    errno = saved;
    return is_told && lock.l_type != F_UNLCK;
}

void shared_drop(struct shared *shared)
{
    const int saved = errno;
    invariant(shared->start != NULL && shared->bytes != 0);
    if (shared_is_found(shared)) {
        os_close(shared->fd);
    }
    (void)munmap(shared->start, shared->bytes);
    *shared = (struct shared){ .start = NULL };
    errno = saved;
}
