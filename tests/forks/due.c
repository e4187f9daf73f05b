/* Fork handlers that were set before the library's, and so run while it has everything at rest for the fork: what they
 * allocate finds a report due, and writes it. Nobody waits for what the forking thread itself holds. */
#include "workers.h"

#include <signal.h>
#include <stdatomic.h>
#include <tslab/tslab.h>

static atomic_int handled;

/* Goes the slow way often, also when a report is due: a signal has just asked for one. */
static void handle(void)
{
    CHECK(raise(SIGUSR2) == 0);
    for (size_t size = 16; size < 200000; size *= 3) {
        void *blocks[64];
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            blocks[i] = tslab_malloc(size);
            CHECK(blocks[i] != NULL);
        }
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            tslab_free(blocks[i]);
        }
    }
    handled++;
}

static pthread_barrier_t barrier;

static void *stay(void *unused)
{
    tslab_free(tslab_malloc(100));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

/* Its standard error is a pipe from its start on: reports go to the file that it was then. */
static void begin_anew(char **argv)
{
    int ends[2];
    char numbers[64];
    CHECK(pipe(ends) == 0);
    snprintf(numbers, sizeof numbers, "%d %d %d", ends[0], ends[1], dup(STDERR_FILENO));
    CHECK(setenv("NUMBERS", numbers, 1) == 0 && setenv("TSLAB_STATS_SIGNAL", "USR2", 1) == 0);
    CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (getenv("NUMBERS") == NULL) {
        begin_anew(argv);
    }
    alarm(HANG_SECONDS);
    int ends[2], was_stderr = -1;
    CHECK(sscanf(getenv("NUMBERS"), "%d %d %d", &ends[0], &ends[1], &was_stderr) == 3);
    CHECK(pthread_atfork(handle, handle, handle) == 0);
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    const pthread_t thread = thread_begin(stay, NULL);
    pthread_barrier_wait(&barrier);
    const pid_t pid = fork();
    CHECK(pid >= 0 && dup2(was_stderr, STDERR_FILENO) == STDERR_FILENO);
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        handle();
        _exit(0);
    }
    child_ends_well(pid);
    CHECK(handled == 2);
    pthread_barrier_wait(&barrier);
    (void)thread_end(thread);
    static char text[1 << 16];
    CHECK(close(ends[1]) == 0 && read(ends[0], text, sizeof text - 1) > 0);
    CHECK_SAY(strstr(text, "tslab statistics\n") == text, "no report was written, but %s", text);
    return 0;
}
