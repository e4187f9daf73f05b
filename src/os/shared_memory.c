/* The file gets its pages when it is made: a write to a page that is not there would end the program where memory is
 * short. */
#include "os/shared_memory.h"

#include "os/fatal.h"
#include "os/newer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of <linux/futex.h>: of words that several processes have. */
enum { FUTEX_WAIT_SHARED, FUTEX_WAKE_SHARED };

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

/* Maps it, where there is something at the same place already. */
static bool make(struct shared *shared, const char *name, size_t bytes, bool is_inbox)
{
    const int saved = errno;
    const int fd = make_file(name, bytes);
    struct os_file file;
    void *start = MAP_FAILED;
    invariant(bytes % os_page_bytes() == 0 && (shared->start == NULL || shared->bytes == bytes));
    if (fd != -1 && syscall(SYS_fallocate, fd, 0, 0L, bytes) == 0 &&
        (!is_inbox || syscall(SYS_fchmod, fd, S_IRUSR | S_IWUSR) == 0) &&
        syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0 && os_file_of(fd, &file)) {
        start = mmap(shared->start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (shared->start != NULL ? MAP_FIXED : 0),
                     fd, 0);
    }
    if (start != MAP_FAILED) {
        (void)syscall(SYS_fcntl, fd, F_ADD_SEALS, is_inbox ? F_SEAL_SEAL : F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
        *shared = (struct shared){ .start = start, .bytes = bytes, .fd = fd, .file = file };
    } else if (fd != -1) {
        os_close(fd);
    }
    errno = saved;
    return start != MAP_FAILED;
}

bool shared_make(struct shared *shared, const char *name, size_t bytes)
{
    invariant(shared->start == NULL);
    return make(shared, name, bytes, false);
}

bool shared_make_inbox(struct shared *shared, const char *name, size_t bytes)
{
    const struct shared before = *shared;
    const bool is_made = make(shared, name, bytes, true);
    invariant(before.start == NULL || shared->start == before.start);
    if (is_made && before.start != NULL && shared_is_found(&before)) {
        os_close(before.fd);
    }
    return is_made;
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

bool shared_is_held(const struct shared *shared, uint32_t *process)
{
    const int saved = errno;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    invariant(shared->start != NULL);
    const bool is_told = syscall(SYS_fcntl, shared->fd, F_GETLK, &lock) == 0;
    errno = saved;
    *process = is_told && lock.l_pid > 0 ? (uint32_t)lock.l_pid : 0;
    return is_told && lock.l_type == F_WRLCK;
}

void shared_wait(atomic_u32 *word, uint32_t expected, uint32_t most_ms)
{
    const int saved = errno;
    const struct timespec most = { .tv_sec = most_ms / 1000, .tv_nsec = most_ms % 1000 * 1000000L };
    invariant(most_ms != 0);
    (void)syscall(SYS_futex, word, FUTEX_WAIT_SHARED, expected, &most, NULL, 0);
    errno = saved;
}

void shared_wake(atomic_u32 *word)
{
    const int saved = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAKE_SHARED, INT_MAX, NULL, NULL, 0);
    errno = saved;
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
