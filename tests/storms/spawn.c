/*
 * Threads that allocate while others start programs in all ways that there are. A child that shares the memory of its
 * parent, as that of vfork does, is the thread that started it, for a while: what it allocates is its parent's.
 *
 *   spawn PROGRAMS     of each way
 */
#include "storm.h"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

enum { CHURNERS = 3, STARTERS = 2, LIVE = 50, CHILD_STACK_BYTES = 64 * 1024 };

extern char **environ;
static atomic_bool done;
static int rounds;

static void *churn(void *argument)
{
    uint64_t random = (uintptr_t)argument + 1;
    struct message *messages[LIVE] = { NULL };
    CHECK(nice(10) != -1); /* of this thread alone: programs need not queue behind the others */
    while (!done) {
        struct message **const at = &messages[below(&random, LIVE)];
        message_free(*at);
        *at = below(&random, 4) == 0 ? swap_in_flight(&random, NULL) : message_new(&random);
    }
    for (size_t i = 0; i < LIVE; i++) {
        message_free(messages[i]);
    }
    return NULL;
}

static void await(pid_t child, int flags)
{
    int status = -1;
    CHECK_SAY(child > 0, "no child: %s", strerror(errno));
    CHECK(waitpid(child, &status, flags) == child);
    CHECK_SAY(status == 0, "the program ended with status %#x", (unsigned)status);
}

static char *const arguments[] = { (char *)"true", NULL };

__attribute__((noreturn)) static void start_in_child(void)
{
    execv("/bin/true", arguments);
    _exit(1);
}

static void start_by_fork(void)
{
    const pid_t child = fork();
    if (child == 0) {
        start_in_child();
    }
    await(child, 0);
}

static void start_by_vfork(void)
{
    const pid_t child = vfork();
    if (child == 0) {
        start_in_child();
    }
    await(child, 0);
}

/* More than vfork allows, but programs do it. */
static void start_by_vfork_and_allocate(void)
{
    static _Thread_local struct message *volatile left;
    static _Thread_local uint64_t random = 17;
    const pid_t child = vfork();
    if (child == 0) {
        for (int i = 0; i < 50; i++) {
            message_free(left);
            left = message_new(&random);
        }
        start_in_child();
    }
    await(child, 0);
    message_free(left);
    left = NULL;
}

static int start_and_allocate(void *unused)
{
    (void)unused;
    tslab_free(ends_fill(tslab_malloc(1000), 1000, 1));
    start_in_child();
}

static void start_by_clone(void)
{
    static _Thread_local _Alignas(64) char stack[CHILD_STACK_BYTES];
    const pid_t child = clone(start_and_allocate, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    await(child, 0);
}

static void start_by_spawn(void)
{
    pid_t child = -1;
    CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
    await(child, 0);
}

static void start_by_system(void)
{
    CHECK(system("exit 0") == 0);
}

static void start_by_popen(void)
{
    FILE *const pipe = popen("echo hello", "r");
    char line[16];
    CHECK(pipe != NULL && fgets(line, sizeof line, pipe) != NULL && strcmp(line, "hello\n") == 0);
    CHECK(pclose(pipe) == 0);
}

static void (*const ways[])(void) = { start_by_fork,  start_by_vfork, start_by_vfork_and_allocate,
                                      start_by_clone, start_by_spawn, start_by_system,
                                      start_by_popen };

static void *start(void *argument)
{
    for (size_t i = 0; i < (size_t)rounds * COUNT_OF(ways); i++) {
        ways[(i + (uintptr_t)argument) % COUNT_OF(ways)]();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc == 2 ? atoi(argv[1]) : 0;
    CHECK_SAY(rounds > 0, "usage: spawn PROGRAMS");
    pthread_t churners[CHURNERS], starters[STARTERS];
    storm_threads(churners, CHURNERS, churn, NULL, 1);
    for (size_t i = 0; i < STARTERS; i++) {
        starters[i] = storm_thread(start, (void *)(3 * i), false);
    }
    threads_end(starters, STARTERS);
    done = true;
    threads_end(churners, CHURNERS);
    free_in_flight();
    const struct tslab_stats stats = storm_stats();
    CHECK_SAY(stats.live_bytes < 64 << 10, "%zu bytes live", stats.live_bytes);
    return 0;
}
