/* The names of libc in which a program of one thread sleeps, linked only into the drop-in library. While the thread has
 * memory to give back, it sleeps in parts, and gives back between them (thread/nap.h). Each part is a call of libc's
 * function. Otherwise libc's function is called with the same arguments.
 *
 * A signal that comes between two parts ends the sleep: its handler runs, and the call is interrupted. Where the call
 * has a mask of its own, the program keeps such signals out, and the next part finds them.
 *
 * Programs that confine themselves may be ended for a system call that they do not expect, so all this is off in a
 * process that had a filter at its start, or prepares for one. */
#include "base/build.h"

#if !TSLAB_LINKED_IN

#include "base/bits.h"
#include "malloc/fast.h"
#include "malloc/program_threads.h"
#include "os/clock.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "thread/nap.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <time.h>
#include <tslab/tslab.h>
#include <unistd.h>

/* The headers have them with types that not each libc has. */
int accept(int file, void *restrict address, unsigned *restrict length);
int accept4(int file, void *restrict address, unsigned *restrict length, int flags);

#define SLEEPS(X)                                                                                                      \
    X(poll)                                                                                                            \
    X(ppoll)                                                                                                           \
    X(epoll_wait)                                                                                                      \
    X(epoll_pwait)                                                                                                     \
    X(select)                                                                                                          \
    X(pselect)                                                                                                         \
    X(nanosleep)                                                                                                       \
    X(clock_nanosleep)                                                                                                 \
    X(usleep)                                                                                                          \
    X(sleep)                                                                                                           \
    X(accept)                                                                                                          \
    X(accept4)                                                                                                         \
    X(prctl)

#define POINTER(name) __typeof__(name) *(name);
static struct {
    SLEEPS(POINTER)
} of_libc;

static noinline void find_sleeps(void)
{
#define FIND(name) of_libc.name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);
    SLEEPS(FIND)
}

/* A program's constructor may come here first. */
#define OF_LIBC(name) (*(likely(of_libc.name != NULL) ? of_libc.name : (find_sleeps(), of_libc.name)))

__attribute__((constructor(103))) static void begin_to_nap(void)
{
    find_sleeps();
    invariant(of_libc.poll != poll && of_libc.prctl != prctl);
    if (heap_serves_malloc && program_threads_keeper_wanted() == KEEPER_BESIDE_THREADS) {
        nap_allow();
    }
}

static noinline bool naps_are_due(void)
{
    return nap_wait_ms() != UINT64_MAX && load_plain(&program_threads.threads) <= 1 &&
           load_plain(&program_threads.is_over) == 0 && helper_thread_found_no_filter();
}

/* Programs often come here, and seldom go further: no system call. */
static bool naps_now(void)
{
    return nap_may_be_due() && naps_are_due();
}

enum { NS_OF_MS = 1000000, NS_OF_S = 1000000000 };
static const uint64_t FOR_EVER = UINT64_MAX;

static bool is_set_size(int count)
{
    return count >= 0 && count <= FD_SETSIZE;
}

/* The words of a set in which select looks for so many files. */
static size_t words_of(int files)
{
    return ((size_t)files + 63) / 64;
}

/* A call of the program's that sleeps. `part` calls libc's function for so many ns, and returns 0 when they passed. */
struct call {
    int (*part)(const struct call *call, uint64_t ns);
    struct sleeper sleeper;
    int file;
    void *out; /* where it puts what it finds, */
    int most;  /* and how much */
    const sigset_t *mask;
    fd_set *sets[3];
    fd_set *saved[3]; /* copies of the program's sets, because each part changes them */
};

static uint64_t now_ns(void)
{
    const struct timespec now = clock_read(CLOCK_MONOTONIC);
    return (uint64_t)now.tv_sec * NS_OF_S + (uint64_t)now.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / NS_OF_S), .tv_nsec = (long)(ns % NS_OF_S) };
}

/* Sleeps for so long, and returns as `part` does. *left receives the ns that were left. */
static int sleep_in_parts(const struct call *call, uint64_t ns, uint64_t *left)
{
    const uint64_t until = ns == FOR_EVER ? FOR_EVER : now_ns() + ns;
    invariant(ns != 0 && call->part != NULL && heap_serves_malloc);
    for (*left = ns;;) {
        const uint64_t wait_ms = nap_wait_ms();
        const bool is_last = wait_ms > INT32_MAX || wait_ms * NS_OF_MS >= *left;
        invariant(until != FOR_EVER || *left == FOR_EVER);
        const int result = is_last || wait_ms != 0 ? call->part(call, is_last ? *left : wait_ms * NS_OF_MS) : 0;
        const uint64_t now = now_ns();
        *left = until == FOR_EVER ? FOR_EVER : until > now ? until - now : 0;
        if (is_last || result != 0) {
            return result;
        }
        if (nap_take(&call->sleeper) >= SIGNALS_RESTART && call->mask == NULL) {
            errno = EINTR;
            return -1;
        }
    }
}

/* Never too early. */
static int ms_of_ns(uint64_t ns)
{
    invariant(ns == FOR_EVER || ns / NS_OF_MS < INT32_MAX);
    return ns == FOR_EVER ? -1 : (int)((ns + NS_OF_MS - 1) / NS_OF_MS);
}

static uint64_t ns_of_ms(int ms)
{
    return ms < 0 ? FOR_EVER : (uint64_t)ms * NS_OF_MS;
}

/* 0: libc shall say what is wrong. FOR_EVER where there is none. */
static uint64_t ns_of(const struct timespec *time)
{
    if (time == NULL) {
        return FOR_EVER;
    }
    const bool is_valid = memory_is_readable(time, sizeof *time) && time->tv_sec >= 0 && time->tv_sec < INT32_MAX &&
                          time->tv_nsec >= 0 && time->tv_nsec < NS_OF_S;
    return is_valid ? (uint64_t)time->tv_sec * NS_OF_S + (uint64_t)time->tv_nsec : 0;
}

/* So short a sleep is not parted. */
static bool is_long(uint64_t ns)
{
    return ns > (uint64_t)20 * NS_OF_MS;
}

static int poll_part(const struct call *call, uint64_t ns)
{
    const struct timespec time = timespec_of(ns);
    struct pollfd *const files = call->sleeper.files;
    invariant(call->sleeper.sets == NULL && ns != 0);
    return call->mask == NULL ? OF_LIBC(poll)(files, call->sleeper.count, ms_of_ns(ns))
                              : OF_LIBC(ppoll)(files, call->sleeper.count, ns == FOR_EVER ? NULL : &time, call->mask);
}

static int epoll_part(const struct call *call, uint64_t ns)
{
    invariant(call->sleeper.count == 1 && call->sleeper.files->fd == call->file);
    return call->mask == NULL ? OF_LIBC(epoll_wait)(call->file, call->out, call->most, ms_of_ns(ns))
                              : OF_LIBC(epoll_pwait)(call->file, call->out, call->most, ms_of_ns(ns), call->mask);
}

static int select_part(const struct call *call, uint64_t ns)
{
    const struct timespec time = timespec_of(ns);
    invariant(is_set_size(call->most) && call->sleeper.sets == call->saved);
    for (unsigned i = 0; i < 3; i++) {
        if (call->sets[i] != NULL) {
            memcpy(call->sets[i], call->saved[i], words_of(call->most) * sizeof(uint64_t));
        }
    }
    return OF_LIBC(pselect)(call->most, call->sets[0], call->sets[1], call->sets[2], ns == FOR_EVER ? NULL : &time,
                            call->mask);
}

static int sleep_part(const struct call *call, uint64_t ns)
{
    const struct timespec time = timespec_of(ns);
    invariant(call->sleeper.count == 0 && ns != FOR_EVER);
    errno = OF_LIBC(clock_nanosleep)(CLOCK_MONOTONIC, 0, &time, NULL);
    return errno == 0 ? 0 : -1;
}

static int poll_in_parts(struct pollfd *files, nfds_t count, uint64_t ns, const sigset_t *mask)
{
    uint64_t left;
    const struct call call = { .part = poll_part, .sleeper = { .files = files, .count = count }, .mask = mask };
    return sleep_in_parts(&call, ns, &left);
}

TSLAB_API int poll(struct pollfd *files, nfds_t count, int ms)
{
    return is_long(ns_of_ms(ms)) && naps_now() ? poll_in_parts(files, count, ns_of_ms(ms), NULL)
                                               : OF_LIBC(poll)(files, count, ms);
}

TSLAB_API int ppoll(struct pollfd *files, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
    return naps_now() && is_long(ns_of(time)) ? poll_in_parts(files, count, ns_of(time), mask)
                                              : OF_LIBC(ppoll)(files, count, time, mask);
}

static int epoll_in_parts(int epoll, struct epoll_event *events, int most, int ms, const sigset_t *mask)
{
    uint64_t left;
    struct pollfd file = { epoll, POLLIN, 0 };
    const struct call call = { .part = epoll_part,
                               .sleeper = { .files = &file, .count = 1 },
                               .file = epoll,
                               .out = events,
                               .most = most,
                               .mask = mask };
    return sleep_in_parts(&call, ns_of_ms(ms), &left);
}

TSLAB_API int epoll_wait(int epoll, struct epoll_event *events, int most, int ms)
{
    return is_long(ns_of_ms(ms)) && naps_now() ? epoll_in_parts(epoll, events, most, ms, NULL)
                                               : OF_LIBC(epoll_wait)(epoll, events, most, ms);
}

TSLAB_API int epoll_pwait(int epoll, struct epoll_event *events, int most, int ms, const sigset_t *mask)
{
    return is_long(ns_of_ms(ms)) && naps_now() ? epoll_in_parts(epoll, events, most, ms, mask)
                                               : OF_LIBC(epoll_pwait)(epoll, events, most, ms, mask);
}

/* Whether the sets can be saved. */
static bool save_sets(struct call *call, fd_set saved[3])
{
    const size_t bytes = words_of(call->most) * sizeof(uint64_t);
    invariant(bytes <= sizeof saved[0]);
    call->sleeper.count = (nfds_t)call->most;
    call->sleeper.sets = call->saved;
    for (unsigned i = 0; i < 3; i++) {
        if (call->sets[i] != NULL) {
            if (bytes != 0 && !memory_is_readable(call->sets[i], bytes)) {
                return false;
            }
            call->saved[i] = memcpy(&saved[i], call->sets[i], bytes);
        }
    }
    return true;
}

TSLAB_API int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
                     struct timeval *restrict time)
{
    if (naps_now() && is_set_size(count) && (time == NULL || memory_is_readable(time, sizeof *time))) {
        const bool is_valid = time == NULL || (time->tv_sec >= 0 && time->tv_sec < INT32_MAX && time->tv_usec >= 0 &&
                                               time->tv_usec < 1000000);
        fd_set saved[3];
        struct call call = { .part = select_part, .most = count, .sets = { in, out, other } };
        uint64_t left = time == NULL ? FOR_EVER
                        : is_valid   ? (uint64_t)time->tv_sec * NS_OF_S + (uint64_t)time->tv_usec * 1000
                                     : 0;
        if (is_long(left) && save_sets(&call, saved)) {
            const int result = sleep_in_parts(&call, left, &left);
            if (time != NULL) {
                time->tv_sec = (time_t)(left / NS_OF_S);
                time->tv_usec = (suseconds_t)(left % NS_OF_S / 1000);
            }
            return result;
        }
    }
    return OF_LIBC(select)(count, in, out, other, time);
}

TSLAB_API int pselect(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
                      const struct timespec *restrict time, const sigset_t *restrict mask)
{
    if (naps_now() && is_set_size(count) && is_long(ns_of(time))) {
        uint64_t left;
        fd_set saved[3];
        struct call call = { .part = select_part, .most = count, .sets = { in, out, other }, .mask = mask };
        if (save_sets(&call, saved)) {
            return sleep_in_parts(&call, ns_of(time), &left);
        }
    }
    return OF_LIBC(pselect)(count, in, out, other, time, mask);
}

/* For a time that is not for ever. 0, or -1 with errno EINTR. */
static int sleep_long(uint64_t ns, uint64_t *left)
{
    const struct call call = { .part = sleep_part };
    const int saved = errno, result = sleep_in_parts(&call, ns, left);
    invariant(ns != FOR_EVER && (result == 0 || errno == EINTR));
    errno = result == 0 ? saved : errno;
    return result;
}

static bool is_span(const struct timespec *time)
{
    return time != NULL && is_long(ns_of(time));
}

static int sleep_span(const struct timespec *time, struct timespec *rest)
{
    uint64_t left;
    const int result = sleep_long(ns_of(time), &left);
    if (result != 0 && rest != NULL && memory_is_readable(rest, sizeof *rest)) {
        *rest = timespec_of(left);
    }
    return result;
}

TSLAB_API int nanosleep(const struct timespec *time, struct timespec *rest)
{
    return naps_now() && is_span(time) ? sleep_span(time, rest) : OF_LIBC(nanosleep)(time, rest);
}

/* Of clocks that nobody sets. */
TSLAB_API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
    const bool is_relative = flags == 0 && (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME);
    const int saved = errno;
    int error = 0;
    if (naps_now() && is_relative && is_span(time)) {
        error = sleep_span(time, rest) == 0 ? 0 : errno;
    } else if (naps_now() && clock == CLOCK_MONOTONIC && flags == TIMER_ABSTIME && time != NULL && ns_of(time) != 0) {
        const uint64_t until = ns_of(time), now = now_ns();
        uint64_t left = 0;
        error = until > now && sleep_long(until - now, &left) != 0 ? errno : 0;
    } else {
        return OF_LIBC(clock_nanosleep)(clock, flags, time, rest);
    }
    errno = saved;
    return error;
}

TSLAB_API int usleep(useconds_t us)
{
    uint64_t left;
    return us >= 20000 && naps_now() ? sleep_long((uint64_t)us * 1000, &left) : OF_LIBC(usleep)(us);
}

TSLAB_API unsigned sleep(unsigned seconds)
{
    uint64_t left;
    if (seconds != 0 && naps_now()) {
        return sleep_long((uint64_t)seconds * NS_OF_S, &left) == 0 ? 0 : (unsigned)(left / NS_OF_S);
    }
    return OF_LIBC(sleep)(seconds);
}

/* The kernel goes on with accept after some handlers. So signals wait in short parts, which tells what handler it is.
 */
static noinline bool accept_is_cut(int socket)
{
    enum { PART_MS = 25 };
    struct pollfd file = { socket, POLLIN, 0 };
    const struct sleeper sleeper = { .files = &file, .count = 1 };
    enum signals_came came = SIGNALS_NONE;
    bool is_ready = !file_blocks(socket);
    for (uint64_t ms; !is_ready && came != SIGNALS_INTERRUPT && (ms = nap_wait_ms()) != UINT64_MAX;) {
        uint64_t before;
        came = ms == 0 ? nap_take(&sleeper) : SIGNALS_NONE;
        if (came == SIGNALS_NONE && signals_hold_all(&before)) {
            is_ready = files_wait(&file, 1, min_size(ms, PART_MS));
            came = signals_came(before);
            signals_let_in(before);
        }
        is_ready |= came == SIGNALS_OTHER;
    }
    invariant(file.fd == socket && file.events == POLLIN);
    errno = came == SIGNALS_INTERRUPT ? EINTR : errno;
    return came == SIGNALS_INTERRUPT;
}

TSLAB_API int accept(int file, void *restrict address, unsigned *restrict length)
{
    return naps_now() && accept_is_cut(file) ? -1 : OF_LIBC(accept)(file, address, length);
}

TSLAB_API int accept4(int file, void *restrict address, unsigned *restrict length, int flags)
{
    return naps_now() && accept_is_cut(file) ? -1 : OF_LIBC(accept4)(file, address, length, flags);
}

/* A filter is set by the one, or needs the other first. */
TSLAB_API int prctl(int what, ...)
{
    unsigned long more[4];
    va_list list;
    va_start(list, what);
    for (unsigned i = 0; i < 4; i++) {
        more[i] = va_arg(list, unsigned long);
    }
    va_end(list);
    if (what == PR_SET_NO_NEW_PRIVS || what == PR_SET_SECCOMP) {
        nap_forbid();
    }
    return OF_LIBC(prctl)(what, more[0], more[1], more[2], more[3]);
}

#endif
