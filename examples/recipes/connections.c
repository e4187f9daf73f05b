// A proxy after a burst: each of eight workers opens 500 connections, each with 30 headers of 20 to 300 bytes and four
// buffers of 4 to 16 KiB, serves them for a while, and closes all but one of twenty. Then all wait for 2.5 seconds.
// Prints the RSS at the peak and at the end, in MiB. usage: connections [trim]    trim: calls malloc_trim each second
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 8, CONNECTIONS = 500, HEADERS = 30, PIECES = HEADERS + 4, REQUESTS = 20000, KEPT = 20 };

static pthread_barrier_t all;

static void fill(char **piece, uint32_t random, int number)
{
    size_t size = number < HEADERS ? 20 + random % 280 : 4096 + random % 12288;
    free(*piece);
    *piece = malloc(size);
    memset(*piece, 1, size);
}

static void *work(void *seed)
{
    char *(*open)[PIECES] = calloc(CONNECTIONS, sizeof *open);
    uint32_t random = (uint32_t)(uintptr_t)seed;
    for (int i = 0; i < CONNECTIONS * PIECES + REQUESTS; i++) {
        random = random * 1664525u + 1013904223u;
        int which = i < CONNECTIONS * PIECES ? i : (int)((random >> 8) % (CONNECTIONS * PIECES));
        fill(&open[which / PIECES][which % PIECES], random >> 12, which % PIECES);
    }
    pthread_barrier_wait(&all); // the peak
    pthread_barrier_wait(&all);
    for (int i = 0; i < CONNECTIONS; i++) {
        for (int piece = 0; i % KEPT != 0 && piece < PIECES; piece++) {
            free(open[i][piece]);
        }
    }
    pthread_barrier_wait(&all);
    pause();
    return open;
}

static double rss_mib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        return -1;
    }
    fclose(file);
    return (double)(pages * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

int main(int count, char **words)
{
    pthread_t worker;
    pthread_barrier_init(&all, NULL, WORKERS + 1);
    for (uintptr_t i = 1; i <= WORKERS; i++) {
        if (pthread_create(&worker, NULL, work, (void *)i) != 0) {
            return 1;
        }
    }
    pthread_barrier_wait(&all);
    double peak = rss_mib();
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    for (int tenth = 1; tenth <= 25; tenth++) {
        usleep(100000);
        if (count > 1 && strcmp(words[1], "trim") == 0 && tenth % 10 == 0) {
            malloc_trim(0);
        }
    }
    printf("%.1f %.1f\n", peak, rss_mib());
}
