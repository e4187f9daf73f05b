/* Work that reaches what the library asks of libc: objects of all kinds of sizes, threads that come and go, forks,
 * trims, reports by libc's names. */
#include "check.h"
#include "workers.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 40 };

static void allocate(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        char *p = keep(malloc(1 + i * 37));
        CHECK(p != NULL);
        for (size_t bytes = 1 << 10; bytes <= 8 << 20; bytes *= i % 20 == 0 ? 4 : 64) {
            p = keep(realloc(p, bytes));
            CHECK(p != NULL);
            memset(p, 1, bytes);
        }
        free(p);
    }
}

static void *run(void *unused)
{
    allocate();
    return unused;
}

static void fork_once(void)
{
    const pid_t child = fork();
    if (child == 0) {
        allocate();
        _exit(0);
    }
    child_ends_well(child);
}

int main(void)
{
    pthread_t threads[THREADS];
    alarm(HANG_SECONDS);
    allocate();
    fork_once();
    threads_begin(threads, THREADS, run, NULL, 0);
    fork_once();
    threads_end(threads, THREADS);
    (void)malloc_trim(0);
    CHECK(malloc_info(0, stdout) == 0);
    malloc_stats();
    return 0;
}
