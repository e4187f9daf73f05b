/*
 * Signals at 10 kHz into each of several threads that allocate, and what handlers may do:
 *
 *   look     anything but allocate: the signal may interrupt the library at any instruction
 *   jump     leave by siglongjmp, when they interrupted the program's own code
 *   allocate allocate and free, when they interrupted the program's own code
 *   profile  what a profiler does: take the interrupted stack (SIGPROF, of the time that the processor spends)
 *
 * Handlers run on the thread's stack or on one of their own, with and without SA_RESTART.
 *
 *   signals look|jump|allocate|profile SIGNALS
 */
#include "storm.h"

#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { WORKERS = 4, LIVE = 64, PERIOD_NS = 100000, PROFILE_PERIOD_US = 1000, HANDLER_STACK_BYTES = 64 * 1024 };

static size_t signals_wanted;
static atomic_size_t signals_seen, inside_seen, jumps;
static atomic_bool done;
static bool is_profile;
static int pipe_ends[2];      /* who writes waits for who reads, and is interrupted */
static atomic_size_t printed; /* statistics, on the pipe */
static tslab_epoch common;

/* The state of the interrupted thread that a handler needs. The C standard asks for volatile here. */
static _Thread_local volatile sig_atomic_t is_outside; /* of the library */
static _Thread_local sigjmp_buf outside;
static _Thread_local uint64_t handler_random;
static _Thread_local struct message *handler_messages[16];

static void look(int number)
{
    const int saved = errno;
    errno = number; /* the interrupted code must not take it for its own, when it is restored */
    signals_seen++;
    inside_seen += !is_outside;
    errno = saved;
}

static void jump(int number)
{
    look(number);
    if (is_outside) {
        is_outside = 0;
        jumps++;
        siglongjmp(outside, 1);
    }
}

static void allocate(int number)
{
    look(number);
    if (is_outside) {
        is_outside = 0;
        const int saved = errno;
        struct message **const at = &handler_messages[below(&handler_random, COUNT_OF(handler_messages))];
        message_free(*at);
        *at = message_new(&handler_random);
        if (below(&handler_random, 20) == 0) {
            live_in_an_epoch(&handler_random);
        }
        errno = saved;
        is_outside = 1;
    }
}

static void profile(int number)
{
    void *frames[64];
    look(number);
    CHECK(backtrace(frames, COUNT_OF(frames)) > 0);
}

static const struct kind {
    const char *name;
    void (*handler)(int);
} kinds[] = { { "look", look }, { "jump", jump }, { "allocate", allocate }, { "profile", profile } };

/* The program's own code. */
static void compute(void)
{
    is_outside = 1;
    for (int i = 0; i < 10; i++) {
        storm_compute();
    }
    is_outside = 0;
}

/* System calls of the library, which signals interrupt: purging, reading, writing. */
static void call_the_system(uint64_t *random)
{
    tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(epoch.id != 0);
    tslab_free(ends_fill(tslab_epoch_malloc(epoch, 200000), 200000, 1));
    STATUS(tslab_epoch_close(epoch, below(random, 4) == 0 ? TSLAB_CLOSE_RECLAIM : 0, NULL), TSLAB_OK);
    if (below(random, 2) == 0) {
        tslab_stats_print(pipe_ends[1]);
        printed++;
    } else {
        (void)tslab_trim();
    }
}

static void step(struct message **messages, uint64_t *random)
{
    struct message **const at = &messages[below(random, LIVE)];
    const size_t what = below(random, 4000);
    if (what == 0) {
        call_the_system(random);
    } else if (what < 40) {
        live_in_an_epoch(random);
    } else if (what < 400) {
        *at = swap_in_flight(random, *at);
    } else if (what < 600 && *at != NULL) {
        *at = message_resize(*at, random);
    } else {
        message_free(*at);
        *at = message_new(random);
    }
}

/* Every thread has a timer that interrupts it, and nobody else. */
static timer_t start_timer(int signal)
{
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal };
    event.sigev_notify_thread_id = gettid();
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    const struct itimerspec period = { .it_interval = { .tv_nsec = PERIOD_NS }, .it_value = { .tv_nsec = PERIOD_NS } };
    CHECK(timer_settime(timer, 0, &period, NULL) == 0);
    return timer;
}

static void *work(void *argument)
{
    const size_t self = (size_t)(uintptr_t)argument;
    static struct message *messages[WORKERS][LIVE];
    static char stacks[WORKERS][HANDLER_STACK_BYTES];
    uint64_t random = self + 1;
    handler_random = self + 100;
    if (self % 2 == 0) {
        const stack_t stack = { .ss_sp = stacks[self], .ss_size = HANDLER_STACK_BYTES };
        CHECK(sigaltstack(&stack, NULL) == 0);
        CHECK(tslab_epoch_enter(common) >= 0);
    }
    timer_t timer = NULL;
    if (!is_profile) {
        timer = start_timer(self < WORKERS / 2 ? SIGUSR1 : SIGUSR2);
    }
    while (!done) {
        if (sigsetjmp(outside, 1) == 0) {
            compute();
        }
        for (int i = 0; i < 10; i++) {
            step(messages[self], &random);
        }
    }
    CHECK(is_profile || timer_delete(timer) == 0);
    is_outside = 0;
    for (size_t i = 0; i < LIVE; i++) {
        message_free(messages[self][i]);
    }
    for (size_t i = 0; i < COUNT_OF(handler_messages); i++) {
        message_free(handler_messages[i]);
    }
    return NULL;
}

/* Reads the statistics: of none may a part be missing, since its write was interrupted. */
static void *drain(void *unused)
{
    static const char *const parts[] = { "tslab statistics\n", "size classes with most memory, and large objects\n" };
    size_t found[COUNT_OF(parts)] = { 0 };
    char line[512];
    FILE *const stream = fdopen(pipe_ends[0], "r");
    while (fgets(line, sizeof line, stream) != NULL) {
        if (strcmp(line, parts[0]) == 0) {
            usleep(1000); /* so that who writes waits */
        }
        for (size_t i = 0; i < COUNT_OF(parts); i++) {
            found[i] += strcmp(line, parts[i]) == 0;
        }
    }
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        CHECK_SAY(found[i] == printed, "of %zu statistics, %zu have %s", printed, found[i], parts[i]);
    }
    CHECK(fclose(stream) == 0);
    return unused;
}

static void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    CHECK(sigemptyset(&action.sa_mask) == 0 && sigaction(signal, &action, NULL) == 0);
}

static void profile_every(suseconds_t period_us)
{
    const struct itimerval period = { .it_interval = { .tv_usec = period_us }, .it_value = { .tv_usec = period_us } };
    CHECK(setitimer(ITIMER_PROF, &period, NULL) == 0);
}

static const struct kind *kind_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void storm_of(const struct kind *kind)
{
    pthread_t threads[WORKERS];
    is_profile = kind->handler == profile;
    handle(SIGUSR1, kind->handler, SA_RESTART | SA_ONSTACK);
    handle(SIGUSR2, kind->handler, 0);
    handle(SIGPROF, kind->handler, SA_RESTART | SA_ONSTACK);
    storm_threads(threads, WORKERS, work, NULL, 1);
    profile_every(is_profile ? PROFILE_PERIOD_US : 0);
    while (signals_seen < signals_wanted) {
        usleep(1000);
    }
    done = true;
    threads_end(threads, WORKERS);
    profile_every(0);
}

int main(int argc, char **argv)
{
    const struct kind *const kind = argc == 3 ? kind_of(argv[1]) : NULL;
    signals_wanted = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    CHECK_SAY(kind != NULL && signals_wanted > 0, "usage: signals look|jump|allocate|profile SIGNALS");
    void *frames[4];
    CHECK(backtrace(frames, COUNT_OF(frames)) > 0); /* the first time it opens a library */
    CHECK(pipe(pipe_ends) == 0 && fcntl(pipe_ends[1], F_SETPIPE_SZ, 4096) >= 4096);
    const pthread_t drainer = storm_thread(drain, NULL, false);
    common = tslab_epoch_open(NULL);
    storm_of(kind);
    CHECK(close(pipe_ends[1]) == 0);
    (void)thread_end(drainer);
    free_in_flight();
    STATUS(tslab_epoch_close(common, 0, NULL), TSLAB_OK);
    printf("%zu signals, %zu of them outside of the program's own code, %zu jumps\n", signals_seen, inside_seen, jumps);
    CHECK_SAY(inside_seen > 0, "no signal has met the library");
    CHECK_SAY(kind->handler != jump || jumps > 0, "no handler was left by a jump");
    const struct tslab_stats stats = storm_stats();
    CHECK_SAY(stats.live_bytes < 64 << 10, "%zu bytes live", stats.live_bytes);
    CHECK(stats.epochs_open == 0 && stats.epochs_draining == 0);
    return 0;
}
