/* A double free that is seen in the middle of a slow operation ends the program, also where a handler of SIGABRT, as
 * those that report crashes do, allocates, asks for the names of functions, forks, or has another thread fork. A
 * process for each case. */
#include "workers.h"

#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

static atomic_bool done;
static atomic_int asked; /* 1: the other thread is to fork, 2: it has */

static void use_memory(void)
{
    for (size_t size = 16; size < 200000; size *= 3) {
        void *const p = tslab_malloc(size);
        CHECK(p != NULL);
        memset(p, 1, size);
        tslab_free(p);
    }
}

static void fork_and_wait(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        signal(SIGABRT, SIG_DFL);
        use_memory();
        _exit(0);
    }
    child_ends_well(pid);
}

static void name_functions(void)
{
    void *frames[16];
    const int n = backtrace(frames, COUNT_OF(frames));
    char **const names = backtrace_symbols(frames, n);
    CHECK(n > 0 && names != NULL && strlen(names[0]) > 0);
    free(names);
}

static void ask_to_fork(void)
{
    asked = 1;
    while (asked != 2) {
        usleep(1000);
    }
}

static void (*handling)(void);

static void handle(int number)
{
    static const char said[] = "handled\n";
    (void)number;
    handling();
    handling();
    CHECK(write(STDERR_FILENO, said, sizeof said - 1) == (ssize_t)(sizeof said - 1));
}

static void *work(void *unused)
{
    while (!done) {
        use_memory();
        if (asked == 1) {
            fork_and_wait();
            asked = 2;
        }
    }
    return unused;
}

static void *keep_slab(void)
{
    void *const p = tslab_malloc(64);
    CHECK(p != NULL && tslab_malloc(64) != NULL);
    return p;
}

/* The one is seen in the list that is flushed, the other in the slab. */
static void twice_in_a_flush(void)
{
    void *const p = keep_slab(), *const q = tslab_malloc(64);
    tslab_free(p);
    tslab_free(q);
    tslab_free(keep(p));
    (void)tslab_trim();
}

static void twice_in_the_slab(void)
{
    void *const p = keep_slab();
    tslab_free(p);
    (void)tslab_trim();
    tslab_free(keep(p));
    (void)tslab_trim();
}

struct handling {
    const char *name;
    void (*what)(void);
    bool threads;
};

static void run(const struct handling *how, void (*misuse)(void), bool threads)
{
    int file;
    const pid_t pid = fork_heard(&file);
    if (pid == 0) {
        handling = how->what;
        pthread_t thread;
        CHECK(!threads || pthread_create(&thread, NULL, work, NULL) == 0);
        CHECK(signal(SIGABRT, handle) != SIG_ERR);
        misuse();
        _exit(0);
    }
    char text[4096];
    const int status = child_heard(pid, file, text, sizeof text);
    cut_stacks(text);
    CHECK_SAY(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
              "%s%s: the program ended with status %#x, and said: %s", how->name, threads ? ", with threads" : "",
              (unsigned)status, text);
    const char *const rest = strchr(text, '\n');
    CHECK_SAY(strncmp(text, "tslab[", 6) == 0 && strstr(text, "free of 0x") != NULL && rest != NULL &&
                  strcmp(rest, "\nhandled\n") == 0,
              "%s%s: the program said: %s", how->name, threads ? ", with threads" : "", text);
}

int main(void)
{
    static const struct handling handlings[] = {
        { "allocate", use_memory, false },
        { "name functions", name_functions, false },
        { "fork", fork_and_wait, false },
        { "have another thread fork", ask_to_fork, true },
    };
    void (*const misuses[])(void) = { twice_in_a_flush, twice_in_the_slab };
    for (size_t i = 0; i < COUNT_OF(handlings); i++) {
        for (size_t m = 0; m < COUNT_OF(misuses); m++) {
            if (!handlings[i].threads) {
                run(&handlings[i], misuses[m], false);
            }
            run(&handlings[i], misuses[m], true);
        }
    }
    return 0;
}
