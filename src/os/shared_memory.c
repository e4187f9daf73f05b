/* The file gets its pages when it is made: a write to a page that is not there would end the program where memory is
 * short. */
#include "os/shared_memory.h"

#include "os/fatal.h"
#include "os/newer.h"
#include "os/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of <linux/futex.h>: of words that several processes have. */
enum { FUTEX_WAIT_SHARED, FUTEX_WAKE_SHARED };

/* Not beyond the limit on files: the kernel would raise a signal. */
static int make_file(const char *name, size_t bytes)
{
    enum { FLAGS = MFD_CLOEXEC | MFD_ALLOW_SEALING };
    if (bytes > os_file_bytes_most()) {
        return -1;
    }
    long fd = SYSTEM_CALL(memfd_create, name, FLAGS | MFD_NOEXEC_SEAL);
    if (fd == -EINVAL) {
        fd = SYSTEM_CALL(memfd_create, name, FLAGS);
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
    const int fd = make_file(name, bytes);
    struct os_file file;
    void *start = NULL;
    invariant(bytes % os_page_bytes() == 0 && (shared->start == NULL || shared->bytes == bytes));
    if (fd != -1 && SYSTEM_CALL(fallocate, fd, 0, 0L, bytes) == 0 &&
        (!is_inbox || SYSTEM_CALL(fchmod, fd, S_IRUSR | S_IWUSR) == 0) &&
        SYSTEM_CALL(fcntl, fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0 && os_file_of(fd, &file)) {
        const int flags = MAP_SHARED | (shared->start != NULL ? MAP_FIXED : 0);
        start = system_call_address(SYSTEM_CALL(mmap, shared->start, bytes, PROT_READ | PROT_WRITE, flags, fd, 0));
    }
    if (start != NULL) {
        (void)SYSTEM_CALL(fcntl, fd, F_ADD_SEALS, is_inbox ? F_SEAL_SEAL : F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
        *shared = (struct shared){ .start = start, .bytes = bytes, .fd = fd, .file = file };
    } else if (fd != -1) {
        os_close(fd);
    }
    return start != NULL;
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
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    invariant(shared->start != NULL);
    const bool is_told = SYSTEM_CALL(fcntl, shared->fd, F_OFD_GETLK, &lock) == 0;
    return is_told && lock.l_type != F_UNLCK;
}

bool shared_is_held(const struct shared *shared, uint32_t *process)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    invariant(shared->start != NULL);
    const bool is_told = SYSTEM_CALL(fcntl, shared->fd, F_GETLK, &lock) == 0;
    *process = is_told && lock.l_pid > 0 ? (uint32_t)lock.l_pid : 0;
    return is_told && lock.l_type == F_WRLCK;
}

void shared_wait(atomic_u32 *word, uint32_t expected, uint32_t most_ms)
{
    const struct timespec most = { .tv_sec = most_ms / 1000, .tv_nsec = most_ms % 1000 * 1000000L };
    invariant(most_ms != 0);
    (void)SYSTEM_CALL(futex, word, FUTEX_WAIT_SHARED, expected, &most);
}

void shared_wake(atomic_u32 *word)
{
    (void)SYSTEM_CALL(futex, word, FUTEX_WAKE_SHARED, INT_MAX);
}

void shared_drop(struct shared *shared)
{
    invariant(shared->start != NULL && shared->bytes != 0);
    if (shared_is_found(shared)) {
        os_close(shared->fd);
    }
    (void)SYSTEM_CALL(munmap, shared->start, shared->bytes);
    *shared = (struct shared){ .start = NULL };
}
