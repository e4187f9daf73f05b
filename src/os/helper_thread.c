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

/* A program that gives up its rights thread by thread, as libpsx does, does not know of this one. It keeps those with
 * which libc changes user and group in all threads: libc ends the program where one thread may not. They are in force
 * even if the program has put them away for now. */
static void give_up_rights(void)
{
    /* Of <linux/capability.h>, which other compilers than the system's often lack. Both rights are in the lower word.
     */
    enum { VERSION = 0x20080522, CAP_SETGID = 6, CAP_SETUID = 7, KEPT = 1 << CAP_SETGID | 1 << CAP_SETUID };
    struct rights {
        uint32_t effective, permitted, inheritable;
    };
    struct {
        uint32_t version;
        int process; /* 0: the calling thread */
    } header = { .version = VERSION };
    struct rights rights[2] = { { 0 } };
    if (SYSTEM_CALL(capget, &header, rights) == 0) {
        const uint32_t kept = rights[0].permitted & KEPT;
        rights[0] = (struct rights){ .effective = kept, .permitted = kept };
        rights[1] = (struct rights){ 0 };
        (void)SYSTEM_CALL(capset, &header, rights);
    }
    (void)SYSTEM_CALL(prctl, PR_SET_NO_NEW_PRIVS, 1);
}

bool helper_thread_make(const char *name, bool has_files)
{
    bool is_apart = false;
    invariant(strlen(name) < 16);
    if (SYSTEM_CALL(prctl, PR_GET_SECCOMP) == at_start.filter) {
        is_apart = has_files && SYSTEM_CALL(close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0;
        use_all_processors();
        lower_priority();
        give_up_rights();
        (void)SYSTEM_CALL(prctl, PR_SET_NAME, name);
    }
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
