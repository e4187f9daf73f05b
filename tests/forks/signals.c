/* A signal handler that forks:
 *
 *   nested, nested-threads  the signal comes in the middle of a fork of the same thread, between its handlers
 *   malloc                  ... in the middle of an allocation, in a process of one thread
 *   malloc-beside-threads   ... where there is another, which holds nothing then
 *   fork                    ... in the middle of a fork, whenever that is
 *
 * The child goes on where the signal has interrupted its parent. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <tslab/tslab.h>

enum { FORKS = 200 };

extern void library_work(void);
extern volatile sig_atomic_t library_raises;
static volatile sig_atomic_t forks, is_child, inside_malloc, forks_inside;
static atomic_bool done, rests;

/* The next signal comes when the program has gone on a little. */
static void send_soon(void)
{
    static uint64_t random = 1;
    const struct itimerval soon = { .it_value.tv_usec = 20 + (suseconds_t)(random_next(&random) % 300) };
    CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

static void fork_in_handler(int number)
{
    if (is_child) {
        return;
    }
    const int saved = errno;
    const pid_t pid = fork();
    if (pid == 0) {
        is_child = 1;
        alarm(CHILD_HANG_SECONDS);
    } else {
        int status = -1;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        CHECK_SAY(status == 0, "a child of a handler ended with status %#x", (unsigned)status);
        forks++;
        forks_inside += inside_malloc != 0;
        if (number == SIGALRM) {
            send_soon();
        }
    }
    errno = saved;
}

/* Also of a child: what it was forked in the middle of, it ends. */
static void end_child(void)
{
    if (is_child) {
        library_work();
        _exit(0);
    }
}

static void handle(int number)
{
    /* A handler that forks is not to be interrupted by itself for ever. */
    struct sigaction action = { .sa_handler = fork_in_handler, .sa_flags = SA_RESTART };
    CHECK(sigemptyset(&action.sa_mask) == 0 && sigaction(number, &action, NULL) == 0);
}

/* Slow paths above all. */
static void allocate(void)
{
    void *blocks[40];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        inside_malloc = 1;
        blocks[i] = tslab_malloc(1000 + i * 1500);
        inside_malloc = 0;
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, 8);
        end_child();
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        inside_malloc = 1;
        tslab_free(blocks[i]);
        inside_malloc = 0;
        end_child();
    }
}

static void *rest(void *allocates)
{
    tslab_free(tslab_malloc(100000));
    rests = true;
    while (!done) {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        if (allocates != NULL) {
            tslab_free(tslab_malloc(100000));
        }
    }
    return NULL;
}

static void fork_once(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        is_child = 1;
        library_work();
        _exit(0);
    }
    end_child();
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    end_child(); /* its sibling is not its own child */
    CHECK_SAY(status == 0, "a child ended with status %#x", (unsigned)status);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *const what = argv[1];
    pthread_t thread;
    const bool in_malloc = strncmp(what, "malloc", 6) == 0;
    const bool threads = strstr(what, "-threads") != NULL;
    if (threads) {
        sigset_t all, before;
        CHECK(sigfillset(&all) == 0 && pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
        CHECK(pthread_create(&thread, NULL, rest, in_malloc ? NULL : &done) == 0);
        while (!rests) {
            usleep(1000);
        }
        CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    }
    tslab_free(tslab_malloc(100));
    if (strncmp(what, "nested", 6) == 0) {
        handle(SIGUSR1);
        for (int i = 0; i < 20; i++) {
            alarm(CHILD_HANG_SECONDS);
            library_raises = 1;
            fork_once();
        }
        CHECK_SAY(forks == 20, "the handler has forked %d times", (int)forks);
    } else {
        handle(SIGALRM);
        send_soon();
        while (in_malloc ? forks_inside < FORKS : forks < FORKS) {
            if (in_malloc) {
                allocate();
            } else {
                fork_once();
            }
        }
        const struct itimerval never = { { 0, 0 }, { 0, 0 } };
        CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    }
    done = true;
    if (threads) {
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
