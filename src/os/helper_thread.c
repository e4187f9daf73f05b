/* It calls the kernel even where libc has functions: these act on threads that the program made. */
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

/* The first call alone makes the table the thread's own. The others close the rest below. */
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

/* Other compilers than the system's often lack the header of these. */
static const struct {
    uint32_t version;
    int process; /* 0: the calling thread */
} rights_header = { .version = 0x20080522 };
struct rights {
    uint32_t effective, permitted, inheritable;
};

/* The kernel's file about the process's first thread, and the rights that the keeper had at its last look. The file is
 * in this thread's table. -1: there is nothing to give up. */
static per_thread int first_thread = -1;
static per_thread uint64_t rights_left;

/* A program that confines itself later may not open files any more, and may be ended for it. */
static bool watches_filter;
static atomic_u32 is_filtered;

void helper_thread_watch_filter(void)
{
    invariant(!is_apart);
    watches_filter = true;
}

bool helper_thread_may_open(void)
{
    return is_apart || load_plain(&is_filtered) == 0;
}

static void watch_rights(void)
{
    struct rights rights[2] = { { 0 } };
    invariant(first_thread == -1 && rights_left == 0);
    if (is_apart && SYSTEM_CALL(capget, &rights_header, rights) == 0) {
        rights_left = rights[0].permitted | (uint64_t)rights[1].permitted << 32;
        first_thread = rights_left != 0 || watches_filter ? os_open_to_read("/proc/self/status") : -1;
    }
}

/* The number behind a name, in hexadecimal. */
static uint64_t status_number(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    uint64_t number = 0;
    invariant(name[0] == '\n' && name[strlen(name) - 1] == ':');
    for (at = at == NULL ? "" : at + strlen(name); *at != 0 && *at != '\n'; at++) {
        const char c = *at;
        number = c >= '0' && c <= '9'   ? number << 4 | (uint64_t)(c - '0')
                 : c >= 'a' && c <= 'f' ? number << 4 | (uint64_t)(c - 'a' + 10)
                                        : number;
    }
    return number;
}

void helper_thread_follow(void)
{
    static char status[4096];
    if (first_thread == -1 || os_read_again(first_thread, status, sizeof status) == 0 ||
        strstr(status, "\nCapPrm:") == NULL) {
        return;
    }
    const uint64_t permitted = rights_left & status_number(status, "\nCapPrm:");
    store_plain(&is_filtered, (long)status_number(status, "\nSeccomp:") != at_start.filter);
    if (permitted == rights_left || load_plain(&is_filtered) != 0) {
        return;
    }
    const uint64_t effective = permitted & status_number(status, "\nCapEff:");
    const struct rights rights[2] = { { (uint32_t)effective, (uint32_t)permitted, 0 },
                                      { (uint32_t)(effective >> 32), (uint32_t)(permitted >> 32), 0 } };
    invariant((effective & ~permitted) == 0);
    if (SYSTEM_CALL(capset, &rights_header, rights) == 0) {
        rights_left = permitted;
    }
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
        (void)SYSTEM_CALL(prctl, PR_SET_NO_NEW_PRIVS, 1);
        (void)SYSTEM_CALL(prctl, PR_SET_NAME, name);
        watch_rights();
    }
    return is_apart;
}

bool helper_thread_is_apart(void)
{
    return is_apart;
}

bool helper_thread_may_ask(void)
{
    return is_apart && at_start.filter == 0;
}

bool helper_thread_found_no_filter(void)
{
    return at_start.bytes != 0 && at_start.filter == 0;
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
