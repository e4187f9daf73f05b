/* What libc has functions for is asked of the kernel all the same: they know of threads that the program made. */
#include "os/helper_thread.h"

#include "base/bits.h"
#include "os/fatal.h"
#include "os/newer.h"
#include "os/os.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSORS = 8192 };

static struct {
    long bytes; /* of the mask; below 1: the kernel did not tell */
    int filter; /* the seccomp mode at the start */
    unsigned char processors[PROCESSORS / 8];
} at_start;

void helper_thread_note(void)
{
    const int saved = errno;
    invariant(at_start.bytes == 0);
    at_start.bytes = syscall(SYS_sched_getaffinity, 0, sizeof at_start.processors, at_start.processors);
    at_start.filter = prctl(PR_GET_SECCOMP);
    errno = saved;
}

/* The thread that has made this one may have been bound to a processor. */
static void use_all_processors(void)
{
    unsigned char now[sizeof at_start.processors];
    invariant(at_start.bytes <= (long)sizeof now);
    if (at_start.bytes > 0 && syscall(SYS_sched_getaffinity, 0, sizeof now, now) == at_start.bytes &&
        memcmp(now, at_start.processors, (size_t)at_start.bytes) != 0) {
        (void)syscall(SYS_sched_setaffinity, 0, (size_t)at_start.bytes, at_start.processors);
    }
}

static void lower_priority(void)
{
    const long policy = syscall(SYS_sched_getscheduler, 0);
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        const struct sched_param none = { 0 };
        (void)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
    }
}

static per_thread bool is_apart;

/* The first call alone makes the table the thread's own; the others close what is left below. */
static bool have_own_files(int keeps)
{
    const unsigned above = (unsigned)keeps + 1;
    invariant(keeps == -1 || keeps >= STDERR_FILENO);
    if (syscall(SYS_close_range, above, ~0u, CLOSE_RANGE_UNSHARE) != 0) {
        return false;
    }
    if (keeps > STDERR_FILENO) {
        (void)syscall(SYS_dup3, keeps, STDERR_FILENO, 0);
        (void)syscall(SYS_close_range, STDERR_FILENO + 1u, (unsigned)keeps, 0);
    }
    if (keeps != -1) {
        (void)syscall(SYS_close_range, 0u, STDERR_FILENO - 1u, 0);
    }
    return true;
}

bool helper_thread_make(const char *name, int keeps)
{
    const int saved = errno;
    invariant(!is_apart);
    os_never_waits = true;
    invariant(strlen(name) < 16);
    if (prctl(PR_GET_SECCOMP) == at_start.filter) {
        is_apart = have_own_files(keeps);
        use_all_processors();
        lower_priority();
        (void)prctl(PR_SET_NAME, name);
    }
    errno = saved;
    return is_apart;
}

bool helper_thread_is_apart(void)
{
    return is_apart;
}

static bool is_running(uint32_t thread)
{
    unsigned char processors[sizeof at_start.processors];
    return syscall(SYS_sched_getaffinity, thread, sizeof processors, processors) > 0;
}

void helper_thread_wait(uint32_t thread)
{
    enum { LOOKS = 16 };
    const int saved = errno;
    atomic_u32 never = 0;
    invariant(thread != os_thread_id());
    for (unsigned i = 0; is_running(thread); i++) {
        if (i >= LOOKS) {
            os_futex_wait(&never, 0, 1);
        }
    }
    errno = saved;
}
