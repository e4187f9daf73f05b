/* The cost of tslab to a program that hardly uses it: an idle one, and a thread that allocates a little.
 *
 *   footprint idle      prints the resident KiB of a program that did nothing
 *   footprint threads   prints the resident KiB that each of many threads adds when it has allocated a little */

#include "check.h"
#include "workers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 100, OBJECTS = 20 };

static pthread_barrier_t ready, leave;

static void *a_little(void *unused)
{
    void *objects[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) {
        const size_t size = (size_t)16 << (i % 6);
        objects[i] = malloc(size);
        memset(objects[i], i, size);
    }
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&leave);
    for (int i = 0; i < OBJECTS; i++) {
        free(objects[i]);
    }
    return unused;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "idle") == 0) {
        printf("%zu\n", resident_kib());
        return 0;
    }
    pthread_t threads[THREADS];
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    pthread_barrier_init(&leave, NULL, THREADS + 1);
    const size_t before = resident_kib();
    threads_begin(threads, THREADS, a_little, NULL, 0);
    pthread_barrier_wait(&ready);
    printf("%zu\n", (resident_kib() - before) / THREADS);
    pthread_barrier_wait(&leave);
    threads_end(threads, THREADS);
    return 0;
}
