#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *linux_reserve(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

static bool linux_unmap(void *start, size_t bytes)
{
    const int saved = errno;
    const bool done = munmap(start, bytes) == 0;
    errno = saved;
    return done;
}

static bool linux_commit(void *start, size_t bytes)
{
    return mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
}

static bool linux_forbid(void *start, size_t bytes)
{
    const int saved = errno;
    const bool done = mprotect(start, bytes, PROT_NONE) == 0;
    errno = saved;
    return done;
}

static bool linux_purge(void *start, size_t bytes)
{
    const int saved = errno;
    const bool done = madvise(start, bytes, MADV_DONTNEED) == 0;
    errno = saved;
    return done;
}

static void *linux_map(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

static uint64_t linux_now_ms(void)
{
    const int saved = errno;
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    errno = saved;
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void linux_futex_wait(atomic_u32 *word, uint32_t expected)
{
    const int saved = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
    errno = saved;
}

static void linux_futex_wake_one(atomic_u32 *word)
{
    const int saved = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

struct os_calls os_calls = {
    .reserve = linux_reserve,
    .unmap = linux_unmap,
    .commit = linux_commit,
    .forbid = linux_forbid,
    .purge = linux_purge,
    .map = linux_map,
    .now_ms = linux_now_ms,
    .futex_wait = linux_futex_wait,
    .futex_wake_one = linux_futex_wake_one,
};

size_t os_page_bytes(void)
{
    static atomic_size_t page_bytes;
    size_t bytes = stat_get(&page_bytes);
    if (bytes == 0) {
        /* Not sysconf: the dynamic loader may call before libc is ready. */
        bytes = getauxval(AT_PAGESZ);
        stat_set(&page_bytes, bytes);
    }
    return bytes;
}

size_t os_address_space_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return SIZE_MAX;
    }
    return limit.rlim_cur;
}

/* Below, system calls are made directly: libc's open, read, write and close are cancellation points, and a thread that
 * is cancelled in the middle of an operation of ours would end with its locks held. */

size_t os_resident_bytes(void)
{
    const int saved = errno;
    char line[128];
    size_t pages = 0;
    const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t n = syscall(SYS_read, fd, line, sizeof line);
        ssize_t i = 0;
        while (i < n && line[i] != ' ') {
            i++;
        }
        for (i++; i < n && line[i] >= '0' && line[i] <= '9'; i++) {
            pages = pages * 10 + (size_t)(line[i] - '0');
        }
        (void)syscall(SYS_close, fd);
    }
    errno = saved;
    return pages * os_page_bytes();
}

#if TSLAB_CHECKED > 1 /* only the checked libraries have a secret */
uint64_t os_random(void)
{
    const int saved = errno;
    uint64_t number = 0;
    /* Early at boot there may be no randomness yet; the kernel's gift to every new program is there always. */
    if (syscall(SYS_getrandom, &number, sizeof number, GRND_NONBLOCK) != sizeof number) {
        const void *const gift = (const void *)getauxval(AT_RANDOM);
        if (gift != NULL) {
            memcpy(&number, gift, sizeof number);
        }
        number *= 0x9e3779b97f4a7c15u; /* it is the stack protector's, too */
    }
    errno = saved;
    return number;
}
#endif

bool os_is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

uint64_t os_process_id(void)
{
    return (uint64_t)getpid();
}

const char *os_program_name(void)
{
    return program_invocation_short_name;
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t n = syscall(SYS_write, fd, text, length);
        if (n < 0 && errno == EINTR) {
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
    /* A write that fails may send its thread a signal whose default is to end the program: it is held back, and taken
     * away again, but for one that was waiting before. */
    static const int deadly[] = { SIGPIPE, SIGXFSZ };
    const int saved = errno;
    const struct timespec no_time = { 0 };
    sigset_t held, before, waiting;
    (void)sigemptyset(&held);
    (void)sigemptyset(&waiting);
    (void)sigpending(&waiting);
    for (unsigned i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        if (sigismember(&waiting, deadly[i]) == 0) {
            (void)sigaddset(&held, deadly[i]);
        }
    }
    const bool holds = pthread_sigmask(SIG_BLOCK, &held, &before) == 0;
    const bool written = write_all(fd, text, length);
    if (holds) {
        while (!written && syscall(SYS_rt_sigtimedwait, &held, NULL, &no_time, _NSIG / 8) > 0) {
        }
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    errno = saved;
    return written;
}
