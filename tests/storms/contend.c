/* Few slabs and many hands: threads free each other's objects of one class into the same slabs at the same time, so
 * that slabs fill and empty, and the queue of the list's lock is in use, all the time.
 *
 *   contend <rounds> <size> */
#include "figures.h"
#include "message.h"
#include "workers.h"

/* Only so much of an object is written, so that the threads spend their time in the allocator. */
enum { THREADS = 3, BATCH = 600, WRITTEN = 48 };

static size_t rounds, size;
static pthread_barrier_t barrier;
static struct message *batches[THREADS][BATCH];

/* Each round: everyone allocates a batch, then everyone frees a third of each batch, interleaved with the others. */
static void *work(void *argument)
{
    const size_t self = (size_t)(uintptr_t)argument;
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < BATCH; i++) {
            batches[self][i] = message_fill(tslab_malloc(size), WRITTEN, self * BATCH + i);
        }
        pthread_barrier_wait(&barrier);
        for (size_t i = self; i < THREADS * BATCH; i += THREADS) {
            message_free(batches[i / BATCH][i % BATCH]);
        }
        pthread_barrier_wait(&barrier);
        if (round % 16 == self) {
            (void)tslab_trim();
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 3, "usage: contend <rounds> <size>");
    rounds = check_count(argv[1]);
    size = check_count(argv[2]);
    CHECK(size >= WRITTEN);
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    in_threads(THREADS, work, NULL, 1);
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.allocations == (uint64_t)rounds * THREADS * BATCH);
    CHECK(figure("slabs_opened") > 0);
    check_all_is_back(1);
    return 0;
}
