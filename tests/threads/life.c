/* The whole life of a process: memory in constructors, in atexit, in destructors, and threads that never stop.
 *
 *   life [quickly]      ends by quick_exit, whose handlers are others */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

void *life_library_take(void);

static void *before_main, *for_exit[50];
static atomic_int busy;

__attribute__((constructor)) static void construct(void)
{
    before_main = memset(malloc(300), 7, 300);
}

__attribute__((destructor)) static void destruct(void)
{
    free(before_main);
    for (size_t size = 1; size < 300000; size *= 2)
        free(keep(malloc(size)));
}

static void at_exit(void)
{
    for (size_t i = 0; i < COUNT_OF(for_exit); i++) {
        CHECK(pattern_holds(for_exit[i], i * 400, i));
        free(for_exit[i]);
        free(keep(malloc(i * 100)));
    }
}

static void run_at_exit_too(int status, void *block)
{
    CHECK(status == 0);
    free(block);
}

/* Detached, and still at work when the process ends: exit must cope with that. */
static void *never_stop(void *unused)
{
    (void)unused;
    uint64_t random = 3;
    void *blocks[32] = { 0 };
    for (;; busy++) {
        size_t place = random_next(&random) % 32;
        free(blocks[place]);
        blocks[place] = malloc(random % 7 == 0 ? random % 100000 : random % 500);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    (void)argv;
    for (size_t i = 0; i < COUNT_OF(for_exit); i++) {
        for_exit[i] = malloc(i * 400);
        pattern_fill(for_exit[i], i * 400, i);
    }
    CHECK((argc > 1 ? at_quick_exit(at_exit) : atexit(at_exit)) == 0);
    CHECK(on_exit(run_at_exit_too, malloc(77)) == 0);
    free(life_library_take());
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, never_stop, NULL) == 0);
        pthread_detach(thread);
    }
    while (busy < 10000)
        usleep(100);
    if (argc > 1) {
        quick_exit(0);
    }
    return 0;
}
