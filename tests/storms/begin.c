/* The very first calls of a process, made by several threads at once: whoever comes first starts the engine, and the
 * others, whatever they call, wait or find nothing.
 *
 *   begin <processes> */
#include "message.h"
#include "workers.h"

static pthread_barrier_t barrier;

static void *first_malloc(void *argument)
{
    pthread_barrier_wait(&barrier);
    tslab_free(keep(tslab_malloc(100)));
    return argument;
}

static void *first_large(void *argument)
{
    pthread_barrier_wait(&barrier);
    char *const p = tslab_calloc(1, 100000);
    CHECK(p != NULL && all_zero(p, 100000));
    tslab_free(p);
    return argument;
}

static void *first_free(void *argument)
{
    pthread_barrier_wait(&barrier);
    tslab_free(keep(NULL));
    CHECK(tslab_usable_size(keep(NULL)) == 0);
    return argument;
}

static void *first_statistics(void *argument)
{
    pthread_barrier_wait(&barrier);
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.live_bytes <= stats.committed_bytes);
    return argument;
}

static void *first_trim(void *argument)
{
    pthread_barrier_wait(&barrier);
    (void)tslab_trim();
    return argument;
}

static void begin(void)
{
    static void *(*const bodies[])(void *) = { first_malloc, first_large, first_free, first_statistics, first_trim };
    pthread_t threads[COUNT_OF(bodies)];
    CHECK(pthread_barrier_init(&barrier, NULL, COUNT_OF(bodies)) == 0);
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        threads[i] = thread_begin(bodies[i], NULL);
    }
    threads_end(threads, COUNT_OF(bodies));
    check_all_is_back(1);
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 2, "usage: begin <processes>");
    for (int i = (int)check_count(argv[1]); i > 0; i--) {
        const pid_t pid = fork();
        if (pid == 0) {
            begin();
            exit(0); /* so that a sanitizer has its say */
        }
        child_ends_well(pid);
    }
    return 0;
}
