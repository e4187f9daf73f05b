/* The calls in which a program sleeps behave as libc's do, also where the library gives memory back first: results,
 * errno, signals, cancellation, the rest of the time. Before each call much memory has become free. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BURST_BYTES = 24 << 20, OBJECT_BYTES = 200, MS = 1000000 };

struct call;

static int epoll_file, listener, pipe_ends[2];
static struct timespec rest;
static struct timeval select_rest;

/* Twice, because memory that was used once goes back at once. */
static void burst(void)
{
    enum { COUNT = BURST_BYTES / OBJECT_BYTES };
    for (unsigned time = 0; time < 2; time++) {
        char **const objects = malloc(COUNT * sizeof *objects);
        CHECK(objects != NULL);
        for (size_t i = 0; i < COUNT; i++) {
            objects[i] = malloc(OBJECT_BYTES);
            CHECK(objects[i] != NULL);
            objects[i][0] = 1;
        }
        for (size_t i = 0; i < COUNT; i++)
            free(objects[i]);
        free(objects);
    }
}

/* The library gives little back where the memory was wanted again at once. So these run in children of a process that
 * has done nothing. Returns their exit code. */
static int in_child(const struct call *call, void (*check)(const struct call *call, long us), long us)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        check(call, us);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static long resident_pages(void)
{
    char text[64] = "";
    const int file = open("/proc/self/statm", O_RDONLY);
    CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
    close(file);
    return strtol(strchr(text, ' '), NULL, 10);
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct timespec span(int ms)
{
    return (struct timespec){ ms / 1000, (long)(ms % 1000) * MS };
}

static struct timespec in_ms(int ms)
{
    const int64_t at = now_ns(CLOCK_MONOTONIC) + (int64_t)ms * MS;
    return (struct timespec){ at / 1000000000, at % 1000000000 };
}

/* Each call sleeps for so long, or until something interrupts it. 0, or the error. */
static int error_of(int result)
{
    return result < 0 ? errno : 0;
}

static int by_poll(int ms)
{
    struct pollfd file = { pipe_ends[0], POLLIN, 0 };
    return error_of(poll(&file, 1, ms));
}

static int by_ppoll(int ms)
{
    const struct timespec time = span(ms);
    struct pollfd file = { pipe_ends[0], POLLIN, 0 };
    return error_of(ppoll(&file, 1, &time, NULL));
}

static int by_epoll_wait(int ms)
{
    struct epoll_event event;
    return error_of(epoll_wait(epoll_file, &event, 1, ms));
}

static int by_epoll_pwait(int ms)
{
    struct epoll_event event;
    return error_of(epoll_pwait(epoll_file, &event, 1, ms, NULL));
}

static int by_select(int ms)
{
    select_rest = (struct timeval){ ms / 1000, ms % 1000 * 1000L };
    return error_of(select(0, NULL, NULL, NULL, &select_rest));
}

static int by_pselect(int ms)
{
    const struct timespec time = span(ms);
    return error_of(pselect(0, NULL, NULL, NULL, &time, NULL));
}

static int by_nanosleep(int ms)
{
    const struct timespec time = span(ms);
    return error_of(nanosleep(&time, &rest));
}

static int by_clock_nanosleep(int ms)
{
    const struct timespec time = span(ms);
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &rest);
}

static int by_absolute_sleep(int ms)
{
    const struct timespec time = in_ms(ms);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, &rest);
}

static int by_usleep(int ms)
{
    return error_of(usleep((useconds_t)ms * 1000));
}

static int by_sleep(int ms)
{
    return sleep((unsigned)ms / 1000) != 0 ? EINTR : 0;
}

static int by_accept(int ms)
{
    (void)ms;
    return error_of(accept(listener, NULL, NULL));
}

static int by_accept4(int ms)
{
    (void)ms;
    return error_of(accept4(listener, NULL, NULL, 0));
}

static const struct call {
    const char *name;
    int (*sleep)(int ms);
    bool ends; /* by its timeout */
} calls[] = {
    { "poll", by_poll, true },
    { "ppoll", by_ppoll, true },
    { "epoll_wait", by_epoll_wait, true },
    { "epoll_pwait", by_epoll_pwait, true },
    { "select", by_select, true },
    { "pselect", by_pselect, true },
    { "nanosleep", by_nanosleep, true },
    { "clock_nanosleep", by_clock_nanosleep, true },
    { "clock_nanosleep until", by_absolute_sleep, true },
    { "usleep", by_usleep, true },
    { "sleep", by_sleep, true },
    { "accept", by_accept, false },
    { "accept4", by_accept4, false },
};

enum { CALLS = sizeof calls / sizeof calls[0] };

static volatile sig_atomic_t handled, jumps;
static sigjmp_buf target;

static void handle(int signal)
{
    (void)signal;
    void *volatile block = malloc(3000 + (size_t)handled);
    free(block);
    handled++;
    if (jumps) {
        siglongjmp(target, 1);
    }
}

static void handle_signals(int flags)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = flags };
    sigemptyset(&action.sa_mask);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

/* A signal that comes before the call has begun does not end it. Another one follows a second later. */
static void alarm_in_us(long us)
{
    const struct itimerval timer = { .it_value = { us / 1000000, us % 1000000 }, .it_interval = { us != 0, 0 } };
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* The call does not return early, and select says how much of its time is left. */
static void check_times(const struct call *call)
{
    const int ms = call->sleep == by_sleep ? 1000 : 40;
    burst();
    const int64_t before = now_ns(CLOCK_MONOTONIC);
    errno = 12345;
    CHECK_SAY(call->sleep(ms) == 0, "%s fails with %d", call->name, errno);
    CHECK_SAY(errno == 12345, "%s changes errno to %d", call->name, errno);
    const int64_t passed = now_ns(CLOCK_MONOTONIC) - before;
    CHECK_SAY(passed >= (int64_t)ms * MS, "%s returns after %lld ns", call->name, (long long)passed);
    CHECK(call->sleep != by_select || (select_rest.tv_sec == 0 && select_rest.tv_usec == 0));
}

enum { SIGNALLED = 77, MISSED_MOST = 8 };

/* A signal ends the call, whenever it comes: also before the sleep begins, while memory goes back. On a busy machine a
 * few may come before the call. */
static void be_signalled(const struct call *call, long us)
{
    handle_signals(0);
    burst();
    rest = (struct timespec){ 77, 77 };
    alarm_in_us(us);
    const int error = call->sleep(100000);
    alarm_in_us(0);
    CHECK_SAY(error == EINTR, "%s: %d, not EINTR", call->name, error);
    const bool says_rest = call->sleep == by_nanosleep || call->sleep == by_clock_nanosleep;
    CHECK_SAY(says_rest ? rest.tv_sec >= 90 && rest.tv_sec <= 100 : rest.tv_sec == 77 && rest.tv_nsec == 77,
              "%s leaves %lld s", call->name, (long long)rest.tv_sec);
    CHECK(call->sleep != by_select || select_rest.tv_sec >= 90);
    _exit(handled == 1 ? 0 : SIGNALLED);
}

static long later = 150; /* the next signal comes after so much of the time of the last one, in percent */

static void check_signals(const struct call *call)
{
    static unsigned missed;
    for (long us = 100; us < 30000; us = us * later / 100) {
        const int code = in_child(call, be_signalled, us);
        CHECK(code == 0 || code == SIGNALLED);
        missed += code != 0;
        CHECK_SAY(missed <= MISSED_MOST, "%s goes on after a signal", call->name);
    }
}

/* A handler that leaves by a jump leaves everything usable. */
static void jump_out(const struct call *call, long us)
{
    handle_signals(SA_NODEFER);
    if (sigsetjmp(target, 1) == 0) {
        burst();
        jumps = 1;
        alarm_in_us(us);
        (void)call->sleep(100000);
        CHECK_SAY(false, "%s returns", call->name);
    }
    jumps = 0;
    alarm_in_us(0);
    burst();
}

static void check_jumps(const struct call *call)
{
    for (long us = 100; us < 20000; us = us * later / 100) {
        CHECK(in_child(call, jump_out, us) == 0);
    }
}

static void *sleep_long(void *call)
{
    (void)((const struct call *)call)->sleep(100000);
    return NULL;
}

static void *sleep_cancelled(void *call)
{
    int before;
    CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before) == 0);
    burst();
    return sleep_long(call);
}

static void check_cancel(const struct call *call)
{
    for (useconds_t us = 0; us < 3; us++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, sleep_cancelled, (void *)(uintptr_t)call) == 0);
        usleep(us * 15000);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &result) == 0);
        CHECK_SAY(result == PTHREAD_CANCELED, "%s is not cancelled", call->name);
    }
}

/* A cancellation that is pending is found by the call, in a program of one thread. */
static void check_cancel_alone(const struct call *call)
{
    const pid_t child = fork();
    if (child == 0) {
        burst();
        CHECK(pthread_cancel(pthread_self()) == 0);
        (void)call->sleep(100000);
        _exit(1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_SAY(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", call->name, (unsigned)status);
}

/* The child has the memory of its parent, and sleeps, too. */
static void check_fork(const struct call *call)
{
    handle_signals(0);
    burst();
    const pid_t child = fork();
    if (child == 0) {
        burst();
        alarm_in_us(20000);
        _exit(call->sleep(100000) == EINTR ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* After a burst and some sleeps the process is small: only where the library gives memory back, which it says. */
static void be_small(const struct call *call, bool gives_back)
{
    handle_signals(0);
    burst();
    const long most = (10 << 20) / sysconf(_SC_PAGESIZE);
    long pages = resident_pages();
    for (unsigned i = 0; i < (gives_back ? 20 : 1) && pages > most; i++) {
        alarm_in_us(400000);
        (void)call->sleep(call->sleep == by_sleep ? 1000 : 400);
        alarm_in_us(0);
        pages = resident_pages();
    }
    CHECK_SAY(!gives_back || pages <= most, "%s leaves %ld pages", call->name, pages);
    _exit(0);
}

static void check_sizes(bool gives_back)
{
    int status;
    for (const struct call *call = calls; call < calls + CALLS; call++) {
        if (fork() == 0) {
            be_small(call, gives_back);
        }
    }
    while (wait(&status) > 0) {
        CHECK(status == 0);
    }
}

static void check_errors(void)
{
    struct epoll_event event;
    struct pollfd file = { 999, POLLIN, 0 };
    const struct timespec wrong = { 2, 1999999999 }, negative = { -1, 0 };
    struct timeval wrong_time = { -1, 0 };
    char *const nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(nowhere != MAP_FAILED);
#define FAILS(call, error)                                                                                             \
    do {                                                                                                               \
        burst();                                                                                                       \
        errno = 12345;                                                                                                 \
        const int result = call;                                                                                       \
        CHECK_SAY(result == -1 && errno == (error), "%s: %d, errno %d", #call, result, errno);                         \
    } while (0)
    FAILS(epoll_wait(-1, &event, 1, 1000), EBADF);
    FAILS(epoll_pwait(-1, &event, 1, 1000, NULL), EBADF);
    FAILS(epoll_wait(epoll_file, &event, 0, 1000), EINVAL);
    FAILS(epoll_wait(pipe_ends[0], &event, 1, 1000), EINVAL);
    FAILS(accept(-1, NULL, NULL), EBADF);
    FAILS(accept(pipe_ends[0], NULL, NULL), ENOTSOCK);
    FAILS(accept4(listener, NULL, NULL, 0x7fff), EINVAL);
    FAILS(poll((struct pollfd *)nowhere, 1, 1000), EFAULT);
    FAILS(ppoll(&file, 1, &wrong, NULL), EINVAL);
    FAILS(nanosleep(&wrong, NULL), EINVAL);
    FAILS(nanosleep(&negative, NULL), EINVAL);
    FAILS(nanosleep((const struct timespec *)nowhere, NULL), EFAULT);
    FAILS(nanosleep(NULL, NULL), EFAULT);
    FAILS(select(-1, NULL, NULL, NULL, NULL), EINVAL);
    FAILS(select(0, NULL, NULL, NULL, &wrong_time), EINVAL);
    FAILS(prctl(PR_SET_NAME, nowhere), EFAULT);
    burst();
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL) == EINVAL);
    burst();
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, (const struct timespec *)nowhere, NULL) == EFAULT);
    burst();
    CHECK(clock_nanosleep(12345, TIMER_ABSTIME, &wrong, NULL) == EINVAL);
    burst();
    CHECK(poll(&file, 1, 1000) == 1 && file.revents == POLLNVAL);

    /* An end of the heap's memory that is a set of one word. */
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_ends[0], &set);
    CHECK(write(pipe_ends[1], "", 1) == 1);
    burst();
    struct timeval time = { 100, 0 };
    CHECK(select(pipe_ends[0] + 1, &set, NULL, NULL, &time) == 1 && FD_ISSET(pipe_ends[0], &set));
    CHECK(time.tv_sec == 99);
    burst();
    file = (struct pollfd){ pipe_ends[0], POLLIN, 0 };
    CHECK(poll(&file, 1, -1) == 1 && file.revents == POLLIN);
    burst();
    CHECK(epoll_wait(epoll_file, &event, 1, -1) == 1 && event.data.fd == pipe_ends[0]);
    char byte;
    CHECK(read(pipe_ends[0], &byte, 1) == 1);
    munmap(nowhere, 65536);
}

/* A mask of the call's own lets in a signal that was kept out, and the call finds it. */
static void check_masks(void)
{
    sigset_t kept, none;
    struct pollfd file = { pipe_ends[0], POLLIN, 0 };
    struct epoll_event event;
    handle_signals(SA_RESTART);
    sigemptyset(&none);
    sigemptyset(&kept);
    sigaddset(&kept, SIGALRM);
    CHECK(sigprocmask(SIG_BLOCK, &kept, NULL) == 0);
    for (unsigned i = 0; i < 3; i++) {
        burst();
        handled = 0;
        raise(SIGALRM);
        const int result = i == 0   ? ppoll(&file, 1, NULL, &none)
                           : i == 1 ? pselect(0, NULL, NULL, NULL, NULL, &none)
                                    : epoll_pwait(epoll_file, &event, 1, -1, &none);
        CHECK(result == -1 && errno == EINTR && handled == 1);
    }
    CHECK(sigprocmask(SIG_UNBLOCK, &kept, NULL) == 0);
}

/* A process that confines itself to read, write and exit is not ended. */
static void check_confined(void)
{
    for (unsigned i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child == 0) {
            burst();
            CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
            if (i == 0) {
                CHECK(prctl(PR_SET_SECCOMP, 1) == 0);
                (void)syscall(SYS_exit, 0);
            }
            struct pollfd file = { pipe_ends[0], POLLIN, 0 };
            CHECK(poll(&file, 1, 30) == 0);
            (void)syscall(SYS_exit, 0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}

int main(int count, char **arguments)
{
    const bool gives_back = count > 1 && strcmp(arguments[1], "gives-back") == 0;
    later = count > 2 ? 600 : later;
    CHECK(pipe(pipe_ends) == 0);
    epoll_file = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = pipe_ends[0] };
    CHECK(epoll_ctl(epoll_file, EPOLL_CTL_ADD, pipe_ends[0], &event) == 0);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    const sa_family_t unnamed = AF_UNIX;
    CHECK(bind(listener, (const struct sockaddr *)&unnamed, sizeof unnamed) == 0 && listen(listener, 1) == 0);
    check_sizes(gives_back);
    for (const struct call *call = calls; call < calls + CALLS; call++) {
        check_signals(call);
        check_jumps(call);
    }
    for (const struct call *call = calls; call < calls + CALLS; call++) {
        if (call->ends) {
            check_times(call);
        }
        check_fork(call);
        check_cancel_alone(call);
    }
    check_errors();
    check_masks();
    check_confined();
    for (const struct call *call = calls; call < calls + CALLS; call++) {
        check_cancel(call);
    }
    return 0;
}
