/* Threads that allocate while others start programs by vfork, posix_spawn and fork, and while signals rain. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum { churners = 3, spawns = 40, signals_wanted = 500 };

extern char **environ;
static atomic_int stop;
static volatile sig_atomic_t signals_seen;

static void *churn(void *argument)
{
    uint64_t random = (uintptr_t)argument + 1;
    void *blocks[50] = { 0 };
    size_t filled[50] = { 0 };
    while (!stop) {
        size_t place = random_next(&random) % 50;
        CHECK(pattern_holds(blocks[place], filled[place], place));
        free(blocks[place]);
        filled[place] = random % 2000;
        blocks[place] = malloc(filled[place]);
        CHECK(blocks[place] != NULL);
        pattern_fill(blocks[place], filled[place], place);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
    return NULL;
}

static void await(pid_t child)
{
    int status = -1;
    CHECK(child > 0);
    while (waitpid(child, &status, 0) < 0)
        CHECK(errno == EINTR);
    CHECK_SAY(status == 0, "the program ended with status %#x", (unsigned)status);
}

static char *const arguments[] = { (char *)"true", NULL };

static void start_by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execv("/bin/true", arguments);
        _exit(1);
    }
    await(child);
}

static void start_by_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        execv("/bin/true", arguments);
        _exit(1);
    }
    await(child);
}

static void start_by_spawn(void)
{
    pid_t child = -1;
    CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
    await(child);
}

static void test_spawning(void)
{
    for (int i = 0; i < spawns; i++) {
        start_by_vfork();
        start_by_fork();
        start_by_spawn();
    }
    CHECK(system("exit 0") == 0);
    FILE *pipe = popen("echo hello", "r");
    char line[16];
    CHECK(fgets(line, sizeof line, pipe) != NULL && strcmp(line, "hello\n") == 0);
    CHECK(pclose(pipe) == 0);
}

static void on_signal(int number)
{
    (void)number;
    signals_seen++;
}

/* The signals interrupt allocation at any instruction; the handler itself does not allocate. */
static void test_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
    struct itimerspec every_ms = { .it_interval = { .tv_nsec = 1000000 }, .it_value = { .tv_nsec = 1000000 } };
    CHECK(timer_settime(timer, 0, &every_ms, NULL) == 0);
    while (signals_seen < signals_wanted) {
        for (size_t size = 1; size < 200000; size += 1 + size / 2)
            free(keep(calloc(1, size)));
    }
    timer_delete(timer);
}

int main(void)
{
    pthread_t threads[churners];
    for (size_t i = 0; i < churners; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)i) == 0);
    test_spawning();
    test_signals();
    stop = 1;
    for (size_t i = 0; i < churners; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
