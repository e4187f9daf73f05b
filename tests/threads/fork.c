/*
 * Forks from a parent whose other threads allocate all the time. Each child must be able to use the whole heap,
 * including what other threads of the parent had in hand at that moment. A child that hangs is killed, and fails the
 * test.
 *
 *   fork [FORKS]
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum { churners = 8, live = 64, shared_count = 256, inherited_count = 100, patience_seconds = 30 };

static _Atomic(void *) shared[shared_count];
static atomic_int stop, rest;
static atomic_size_t steps;

/* Mostly small, sometimes of the sizes where whole runs of pages move. */
static size_t some_size(uint64_t *random)
{
    uint64_t value = random_next(random);
    switch (value % 32) {
    case 0:
        return value / 32 % 500000;
    case 1:
    case 2:
        return value / 32 % 40000;
    default:
        return value / 32 % 1024;
    }
}

static void *churn(void *argument)
{
    uint64_t random = (uintptr_t)argument * 77777 + 1;
    void *blocks[live] = { 0 };
    /* Linux applies this to the calling thread only: main and its children need not queue behind eight busy threads. */
    CHECK(nice(10) != -1);
    while (!stop) {
        if (rest) {
            usleep(500);
            continue;
        }
        steps++;
        size_t place = random_next(&random) % live;
        if (random % 4 == 0) {
            blocks[place] = atomic_exchange(&shared[random / 4 % shared_count], blocks[place]);
        } else {
            free(blocks[place]);
            blocks[place] = malloc(some_size(&random));
            CHECK(blocks[place] != NULL);
            *(char *)blocks[place] = 1;
        }
    }
    for (size_t i = 0; i < live; i++)
        free(blocks[i]);
    return NULL;
}

static void use_size(size_t size)
{
    void *blocks[3];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = i == 1 ? calloc(1, size) : malloc(size);
        CHECK(blocks[i] != NULL);
        CHECK(i != 1 || all_zero(blocks[i], size));
        pattern_fill(blocks[i], size, size + i);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        CHECK(pattern_holds(blocks[i], size, size + i));
        free(blocks[i]);
    }
}

static void *use_every_size(void *unused)
{
    (void)unused;
    for (size_t size = 8; size < 40000; size += 8 + size / 10)
        use_size(size);
    use_size(60000);
    use_size(300000);
    return NULL;
}

static void run_child(int number, void **inherited)
{
    for (size_t i = 0; i < inherited_count; i++) {
        CHECK(pattern_holds(inherited[i], i * 50 + 8, i));
        free(inherited[i]);
    }
    use_every_size(NULL);
    for (size_t i = 0; i < shared_count; i++)
        free(atomic_exchange(&shared[i], NULL));
    use_every_size(NULL);
    if (number % 8 == 0) {
        pthread_t threads[2];
        for (size_t i = 0; i < COUNT_OF(threads); i++)
            CHECK(pthread_create(&threads[i], NULL, use_every_size, NULL) == 0);
        for (size_t i = 0; i < COUNT_OF(threads); i++)
            pthread_join(threads[i], NULL);
    }
    if (number % 16 == 1) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            use_every_size(NULL);
            _exit(0);
        }
        int status = -1;
        CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
    }
    if (number % 2 == 0)
        exit(0);
    _exit(0);
}

/* SIGCHLD is blocked, so that it waits here instead of interrupting: no child is missed, and no time is lost by
 * polling. */
static void await_child(pid_t child, int number)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    const struct timespec patience = { .tv_sec = patience_seconds };
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0)
        if (sigtimedwait(&signals, NULL, &patience) != SIGCHLD) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            check_failed(__FILE__, __LINE__, "child %d hung", number);
        }
    CHECK_SAY(status == 0, "child %d: status %#x", number, (unsigned)status);
}

/* The threads are at work when the process forks, and rest while the child is, so that it gets the processor. */
static void fork_amid_work(int number, void **inherited)
{
    rest = 0;
    for (size_t before = steps; steps - before < 3000;)
        usleep(100);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        run_child(number, inherited);
    rest = 1;
    await_child(child, number);
}

int main(int argc, char **argv)
{
    int forks = argc > 1 ? atoi(argv[1]) : 200;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    pthread_t threads[churners];
    for (size_t i = 0; i < churners; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (int number = 0; number < forks; number++) {
        void *inherited[inherited_count];
        for (size_t i = 0; i < inherited_count; i++) {
            inherited[i] = malloc(i * 50 + 8);
            pattern_fill(inherited[i], i * 50 + 8, i);
        }
        fork_amid_work(number, inherited);
        for (size_t i = 0; i < inherited_count; i++) {
            CHECK(pattern_holds(inherited[i], i * 50 + 8, i));
            free(inherited[i]);
        }
    }
    stop = 1;
    rest = 0;
    for (size_t i = 0; i < churners; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
