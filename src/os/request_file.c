/* No write goes beyond the limit on the length of files: the kernel would raise a signal. */
#include "os/request_file.h"

#include "os/fatal.h"
#include "os/file.h"
#include "os/newer.h"
#include "os/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int request_file_make(const char *name)
{
    long fd = SYSTEM_CALL(memfd_create, name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd == -EINVAL) { /* before Linux 6.3 */
        fd = SYSTEM_CALL(memfd_create, name, MFD_CLOEXEC);
    }
    if (fd >= 0 && SYSTEM_CALL(fchmod, fd, S_IRUSR | S_IWUSR) != 0) {
        os_close((int)fd);
        fd = -1;
    }
    return fd < 0 ? -1 : (int)fd;
}

bool request_file_is_locked(int fd, uint32_t *process)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    invariant(fd >= 0);
    const bool is_held = SYSTEM_CALL(fcntl, fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
    *process = is_held && lock.l_pid > 0 ? (uint32_t)lock.l_pid : 0;
    return is_held && lock.l_pid >= 0; /* -1: of no process */
}

bool request_file_put(int fd, uint64_t offset, const void *bytes, size_t count)
{
    invariant(fd >= 0 && count != 0);
    return offset + count <= os_file_bytes_most() && SYSTEM_CALL(pwrite64, fd, bytes, count, offset) == (long)count;
}

bool request_file_cut(int fd, uint64_t bytes)
{
    invariant(fd >= 0);
    return bytes <= os_file_bytes_most() && SYSTEM_CALL(ftruncate, fd, bytes) == 0 &&
           SYSTEM_CALL(lseek, fd, bytes, SEEK_SET) == (long)bytes;
}
