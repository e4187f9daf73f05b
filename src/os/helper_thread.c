/* What libc has functions for is asked of the kernel all the same: they know of threads that the program made. */
#include "os/helper_thread.h"

#include "base/bits.h"
#include "os/fatal.h"
#include "os/newer.h"
#include "os/os.h"
#include "os/system_call.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

enum { PROCESSORS = 8192 };

static struct {
    long bytes;  /* of the mask; below 1: the kernel did not tell */
    long filter; /* the seccomp mode at the start */
    unsigned char processors[PROCESSORS / 8];
} at_start;

void helper_thread_note(void)
{
    invariant(at_start.bytes == 0);
    at_start.bytes = SYSTEM_CALL(sched_getaffinity, 0, sizeof at_start.processors, at_start.processors);
    at_start.filter = SYSTEM_CALL(prctl, PR_GET_SECCOMP);
}

/* The thread that has made this one may have been bound to a processor. */
static void use_all_processors(void)
{
    unsigned char now[sizeof at_start.processors];
    invariant(at_start.bytes <= (long)sizeof now);
    if (at_start.bytes > 0 && SYSTEM_CALL(sched_getaffinity, 0, sizeof now, now) == at_start.bytes &&
        memcmp(now, at_start.processors, (size_t)at_start.bytes) != 0) {
        (void)SYSTEM_CALL(sched_setaffinity, 0, (size_t)at_start.bytes, at_start.processors);
    }
}

static void lower_priority(void)
{
    const long policy = SYSTEM_CALL(sched_getscheduler, 0);
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        const struct sched_param none = { 0 };
        (void)SYSTEM_CALL(sched_setscheduler, 0, SCHED_OTHER, &none);
    }
}

static per_thread bool is_apart;

/* The first call alone makes the table the thread's own; the others close what is left below. */
static bool have_own_files(int keeps)
{
    const unsigned above = (unsigned)keeps + 1;
    invariant(keeps == -1 || keeps >= STDERR_FILENO);
    if (SYSTEM_CALL(close_range, above, ~0u, CLOSE_RANGE_UNSHARE) != 0) {
        return false;
    }
    if (keeps > STDERR_FILENO) {
        (void)SYSTEM_CALL(dup3, keeps, STDERR_FILENO, 0);
        (void)SYSTEM_CALL(close_range, STDERR_FILENO + 1u, (unsigned)keeps, 0);
    }
    if (keeps != -1) {
        (void)SYSTEM_CALL(close_range, 0u, STDERR_FILENO - 1u, 0);
    }
    return true;
}

bool helper_thread_make(const char *name, int keeps)
{
    invariant(!is_apart);
    os_never_waits = true;
    invariant(strlen(name) < 16);
    if (SYSTEM_CALL(prctl, PR_GET_SECCOMP) == at_start.filter) {
        is_apart = have_own_files(keeps);
        use_all_processors();
        lower_priority();
        (void)SYSTEM_CALL(prctl, PR_SET_NAME, name);
    }
    return is_apart;
}

bool helper_thread_is_apart(void)
{
    return is_apart;
}

static bool is_running(uint32_t thread)
{
    unsigned char processors[sizeof at_start.processors];
    return SYSTEM_CALL(sched_getaffinity, thread, sizeof processors, processors) > 0;
}

void helper_thread_wait(uint32_t thread)
{
    enum { LOOKS = 16 };
    atomic_u32 never = 0;
    invariant(thread != os_thread_id());
    for (unsigned i = 0; is_running(thread); i++) {
        if (i >= LOOKS) {
            os_futex_wait(&never, 0, 1);
        }
    }
}
