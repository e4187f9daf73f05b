/* The kernel's mask of signals is one word. */
#include "os/before_sleep.h"

#include "base/bits.h"
#include "os/fatal.h"
#include "os/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

bool signals_hold_all(uint64_t *before)
{
    const uint64_t all = UINT64_MAX;
    return SYSTEM_CALL(rt_sigprocmask, SIG_SETMASK, &all, before, sizeof all) == 0;
}

void signals_let_in(uint64_t before)
{
    (void)SYSTEM_CALL(rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

enum signals_came signals_came(uint64_t before)
{
    enum signals_came came = SIGNALS_NONE;
    uint64_t pending = 0;
    (void)SYSTEM_CALL(rt_sigpending, &pending, sizeof pending);
    for (pending &= ~before; pending != 0; pending &= pending - 1) {
        const int signal = (int)bit_lowest(pending) + 1;
        invariant(signal >= 1 && signal <= 64);
        unsigned long action[16] = { 0 }; /* the kernel's form: the handler, then the flags */
        (void)SYSTEM_CALL(rt_sigaction, signal, NULL, action, sizeof pending);
        const bool is_handled = action[0] > 1 && (signal < 32 || signal >= SIGRTMIN);
        const bool restarts = (action[1] & SA_RESTART) != 0;
        came = (enum signals_came)max_size(came, !is_handled ? SIGNALS_OTHER
                                                 : restarts  ? SIGNALS_RESTART
                                                             : SIGNALS_INTERRUPT);
    }
    return came;
}

bool files_wait(struct pollfd *files, nfds_t count, uint64_t ms)
{
    struct timespec time = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };
    invariant(count != 0 && ms / 1000 < INT32_MAX);
    return SYSTEM_CALL(ppoll, files, count, &time, NULL, 0) != 0;
}

bool files_are_ready(struct pollfd *files, nfds_t count)
{
    return files_wait(files, count, 0);
}

bool sets_are_ready(fd_set *const sets[3], int count)
{
    struct timespec none = { 0 };
    fd_set copies[3], *given[3] = { NULL };
    invariant(count > 0 && count <= FD_SETSIZE);
    for (unsigned i = 0; i < 3; i++) {
        given[i] = sets[i] == NULL ? NULL : memcpy(&copies[i], sets[i], sizeof copies[i]);
    }
    return SYSTEM_CALL(pselect6, count, given[0], given[1], given[2], &none, NULL) != 0;
}

bool file_blocks(int file)
{
    const long flags = SYSTEM_CALL(fcntl, file, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

/* The kernel reads a mask before it refuses what to do with it. */
bool memory_is_readable(const void *start, size_t bytes)
{
    const uintptr_t first = (uintptr_t)start, last = first + bytes - sizeof(uint64_t);
    invariant(bytes != 0 && bytes % sizeof(uint64_t) == 0);
    return SYSTEM_CALL(rt_sigprocmask, -1, first, NULL, sizeof(uint64_t)) == -EINVAL &&
           SYSTEM_CALL(rt_sigprocmask, -1, last, NULL, sizeof(uint64_t)) == -EINVAL;
}
