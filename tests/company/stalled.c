/* The standard error is a pipe that is full and that nobody reads, and the library's own thread has a report to write
 * there. The end of the program's second thread waits for the library's thread, and a fork for that: neither may wait
 * for a reader. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

/* A pipe that is full becomes the standard error of this program, which begins anew. */
static void begin_anew(char **argv)
{
    static char some[4096];
    int ends[2];
    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(ends[1], some, sizeof some) > 0) {
    }
    CHECK(errno == EAGAIN && fcntl(ends[1], F_SETFL, 0) == 0);
    CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO && setenv("TSLAB_STATS_SIGNAL", "USR2", 1) == 0);
    execv("/proc/self/exe", argv);
    _exit(1);
}

static pthread_barrier_t barrier;

static void *stay(void *unused)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static uint64_t looks(void)
{
    uint64_t count = 0;
    return tslab_stat_get("keeper_looks", &count) == TSLAB_OK ? count : 0;
}

int main(int argc, char **argv)
{
    if (getenv("TSLAB_STATS_SIGNAL") == NULL) {
        begin_anew(argv);
    }
    alarm(CHILD_HANG_SECONDS);
    pthread_t thread;
    if (pthread_barrier_init(&barrier, NULL, 2) != 0 || pthread_create(&thread, NULL, stay, NULL) != 0) {
        return 1;
    }
    pthread_barrier_wait(&barrier);
    const uint64_t before = looks();
    (void)raise(SIGUSR2);
    /* Two looks later it has been at the report, unless the report holds it up. */
    for (unsigned tries = 0; tries < 500 && looks() < before + 3; tries++) {
        usleep(10000);
    }
    pthread_barrier_wait(&barrier);
    if (pthread_join(thread, NULL) != 0) {
        return 2;
    }
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 3;
}
