/* A long line of descent: every generation has threads that allocate and free, forks while they live, and only the
 * child goes on. Free memory of the vanished threads must serve their descendants, or the last of them is as large as
 * all together.
 *
 *   generations [GROWTH_MIB]      0 only tells the growth, for a malloc that promises nothing */
#include "workers.h"

#include <stdatomic.h>

enum { generations = 60, churners = 4, batch = 100 };

static pthread_barrier_t barrier;
static atomic_int stop;

/* After the barrier each thread has a cache full of memory, and no block in use but the odd one. */
static void *churn(void *unused)
{
    (void)unused;
    for (int round = 0; !stop; round++) {
        for (size_t size = 16; size <= 4096; size += size < 1024 ? 48 : 512) {
            void *blocks[batch];
            for (size_t i = 0; i < batch; i++)
                blocks[i] = memset(malloc(size), 1, size);
            for (size_t i = 0; i < batch; i++)
                free(blocks[i]);
        }
        if (round == 0)
            pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void live_on(int generation, size_t first_kib, size_t allowed_kib)
{
    if (generation == generations) {
        size_t grown = resident_kib() - first_kib;
        printf("%d generations grew by %zd KiB\n", generations, (ptrdiff_t)grown);
        CHECK_SAY(allowed_kib == 0 || (ptrdiff_t)grown <= (ptrdiff_t)allowed_kib, "grown by %zu KiB, of %zu allowed",
                  grown, allowed_kib);
        return;
    }
    pthread_barrier_init(&barrier, NULL, churners + 1);
    stop = 0;
    pthread_t threads[churners];
    threads_begin(threads, churners, churn, NULL, 0);
    pthread_barrier_wait(&barrier);
    if (generation == 4)
        first_kib = resident_kib();
    const pid_t child = fork();
    if (child == 0) {
        live_on(generation + 1, first_kib, allowed_kib);
        fflush(stdout);
        _exit(0);
    }
    stop = 1;
    threads_end(threads, churners);
    child_ends_well(child);
}

int main(int argc, char **argv)
{
    live_on(0, 0, argc > 1 ? strtoul(argv[1], NULL, 10) * 1024 : 0);
    return 0;
}
