// Four threads each keep 2,000 objects of 16 to 515 bytes, and replace them at random, a million times. Prints the
// seconds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, LIVE = 2000, OPERATIONS = 1000000 };

static void *replace(void *seed)
{
    static _Thread_local char *live[LIVE];
    uint32_t random = (uint32_t)(uintptr_t)seed;
    for (int i = 0; i < OPERATIONS; i++) {
        random = random * 1664525u + 1013904223u;
        char **place = &live[random % LIVE];
        free(*place);
        *place = malloc(16 + (random >> 20) % 500);
        (*place)[0] = 1;
    }
    for (int i = 0; i < LIVE; i++) {
        free(live[i]);
    }
    return NULL;
}

int main(void)
{
    struct timespec from, to;
    pthread_t threads[THREADS];
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, replace, (void *)(uintptr_t)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.2f s\n", (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
    return 0;
}
