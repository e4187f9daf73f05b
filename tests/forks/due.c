/* Fork handlers that were set before the library's, and so run while it has everything at rest for the fork: what they
 * allocate finds a report due, and writes it. Nobody waits for what the forking thread itself holds. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

static atomic_int handled;

/* Goes the slow way often, also when a report is due: the interval is 1 ms. */
static void handle(void)
{
    usleep(50000);
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

int main(void)
{
    alarm(HANG_SECONDS);
    CHECK(pthread_atfork(handle, handle, handle) == 0);
    int ends[2];
    CHECK(pipe(ends) == 0);
    const int was_stderr = dup(STDERR_FILENO);
    CHECK(was_stderr >= 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    pthread_t thread;
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0 && pthread_create(&thread, NULL, stay, NULL) == 0);
    pthread_barrier_wait(&barrier);
    CHECK(tslab_option_set("stats", "0,1") == TSLAB_OK);
    const pid_t pid = fork();
    CHECK(pid >= 0 && dup2(was_stderr, STDERR_FILENO) == STDERR_FILENO);
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        handle();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_SAY(status == 0, "the child ended with status %#x", (unsigned)status);
    CHECK(handled == 2);
    pthread_barrier_wait(&barrier);
    CHECK(pthread_join(thread, NULL) == 0);
    static char text[1 << 16];
    CHECK(close(ends[1]) == 0 && read(ends[0], text, sizeof text - 1) > 0);
    CHECK_SAY(strstr(text, "tslab statistics\n") == text, "no report was written, but %s", text);
    return 0;
}
