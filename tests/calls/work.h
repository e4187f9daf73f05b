/* Allocations of all kinds, as any program may make them. The system calls that they need are tested here. */
#ifndef WORK_H
#define WORK_H

#include "check.h"
#include "workers.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

/* NULL on the system's malloc. */
#pragma weak tslab_epoch_open
#pragma weak tslab_epoch_enter
#pragma weak tslab_epoch_leave
#pragma weak tslab_epoch_close
#pragma weak tslab_epoch_malloc

enum { WORK_SMALL = 400000, WORK_SMALL_BYTES = 500 };

/* Small objects up to 200 MB, and again when they are free. */
static inline void work_small(void)
{
    static char *all[WORK_SMALL];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < WORK_SMALL; i++) {
            all[i] = malloc(WORK_SMALL_BYTES);
            CHECK(all[i] != NULL);
            memset(all[i], 1, WORK_SMALL_BYTES);
        }
        for (size_t i = 0; i < WORK_SMALL; i++) {
            free(all[i]);
        }
    }
}

static inline void work_mixed(uint64_t seed, unsigned rounds)
{
    enum { COUNT = 2000, MOST = 30000 };
    void **const all = calloc(COUNT, sizeof *all);
    CHECK(all != NULL);
    for (unsigned i = 0; i < rounds * COUNT; i++) {
        const size_t at = random_next(&seed) % COUNT, bytes = random_next(&seed) % MOST;
        switch (random_next(&seed) % 4) {
        case 0:
            free(all[at]);
            all[at] = calloc(1, bytes + 1);
            break;
        case 1:
            free(all[at]);
            all[at] = memalign(4096, bytes + 1);
            break;
        default:
            all[at] = realloc(all[at], bytes + 1);
        }
        CHECK(all[at] != NULL);
        memset(all[at], 3, bytes + 1);
    }
    for (size_t i = 0; i < COUNT; i++) {
        free(all[i]);
    }
    free(all);
}

static inline void work_large(void)
{
    char *large = NULL;
    for (size_t bytes = 300000; bytes < 100000000; bytes += bytes / 3) {
        large = realloc(large, bytes);
        CHECK(large != NULL);
        memset(large, 5, bytes);
        char *const other = calloc(1, bytes / 2);
        CHECK(other != NULL && other[bytes / 2 - 1] == 0);
        memset(other, 5, bytes / 2);
        free(other);
    }
    for (size_t bytes = 90000000; bytes > 100000; bytes /= 2) {
        large = realloc(large, bytes);
        CHECK(large != NULL && large[0] == 5);
    }
    free(large);
}

/* In memory that is no file. */
static inline void work_reports(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *const stream = open_memstream(&text, &length);
    CHECK(stream != NULL && malloc_info(0, stream) == 0 && fclose(stream) == 0 && length != 0);
    free(text);
    CHECK(mallinfo2().uordblks != 0);
    (void)malloc_trim(0);
}

/* Epochs, where they are to be had. */
static inline void work_epochs(void)
{
    enum { COUNT = 20000, BYTES = 300 };
    for (int i = 0; tslab_epoch_enter != NULL && i < 40; i++) {
        static const struct tslab_epoch_options drained = { .label = "drained" };
        static const struct tslab_epoch_options released = { .label = "released",
                                                             .policy = TSLAB_POLICY_RELEASE,
                                                             .flags = TSLAB_OPEN_VOUCHED };
        struct tslab_epoch_report report;
        const tslab_epoch epoch = tslab_epoch_open(i % 2 == 0 ? &drained : &released);
        CHECK(tslab_epoch_enter(epoch) == TSLAB_OK);
        for (size_t k = 0; k < COUNT; k++) {
            memset(keep(tslab_epoch_malloc(epoch, BYTES)), 1, BYTES);
        }
        CHECK(tslab_epoch_leave(epoch) == TSLAB_OK && tslab_epoch_close(epoch, 0, &report) == TSLAB_OK);
    }
}

static inline void work_alone(void)
{
    work_small();
    work_large();
    work_mixed(1, 20);
    work_epochs();
    work_reports();
}

static inline void *work_of_thread(void *argument)
{
    work_mixed((uintptr_t)argument, 12);
    return argument;
}

static inline void work_with_threads(void)
{
    enum { THREADS = 4 };
    for (int round = 0; round < 3; round++) {
        pthread_t threads[THREADS];
        threads_begin(threads, THREADS, work_of_thread, (void *)1, 1);
        work_mixed(99, 12);
        threads_end(threads, THREADS);
    }
}

static inline void work_in_a_child(void (*work)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    child_ends_well(child);
}

#endif
