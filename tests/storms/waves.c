/*
 * Threads that come and go by the thousand, and what is left when they are gone: nothing that grows with their number.
 *
 *   waves come THREADS     in waves, joined and detached in turn; they end with messages in flight that others free
 *   waves stand THREADS    all alive at once and allocating; then gone; and again
 */
#include "figures.h"
#include "storm.h"

#ifndef STORM_SANITIZED
#define STORM_SANITIZED 0
#endif

enum {
    WAVE = 40,
    EACH = 30,
    FIRST = 2 * WAVE, /* those of one wave may still be ending when the next has begun */
    ALLOWED_KIB = 1024,
    /* The objects of all threads at one moment are a matter of luck, and now and then more than ever before. A leak of
     * one cache line for each thread would be ten times this. */
    ALLOWED_METADATA = 4 * 1024,
    WINDOWS = 8, /* a record that serves again grows by the classes that it did not know, until it knows all */
};

static tslab_epoch common;
static uint32_t threads_at_rest; /* main alone */

static atomic_int still_to_come;

/* Detached threads are gone when they have come, and the library knows none any more: they have run all their
 * destructors by then. */
static void await_their_end(void)
{
    while (still_to_come > 0 || storm_stats().threads != threads_at_rest) {
        usleep(100);
    }
}

struct extent {
    size_t resident_kib, metadata_bytes;
    uint32_t records;
};

/* Without the messages that are in flight: some are large, and how many of those is luck. */
static struct extent measure(void)
{
    free_in_flight();
    (void)tslab_trim();
    const struct tslab_stats stats = storm_stats();
    return (struct extent){ resident_kib(), stats.metadata_bytes, figure("thread_records") };
}

static bool is_plateau(const struct extent *early, const struct extent *late)
{
    printf("resident %zu, then %zu KiB; metadata %zu, then %zu bytes; records %u, then %u\n", early->resident_kib,
           late->resident_kib, early->metadata_bytes, late->metadata_bytes, early->records, late->records);
    CHECK_SAY(late->records == early->records, "records are made that nobody needs");
    return (STORM_SANITIZED || late->resident_kib <= early->resident_kib + ALLOWED_KIB) &&
           late->metadata_bytes <= early->metadata_bytes + ALLOWED_METADATA;
}

/* A leak grows in each window. Anything else stops growing. */
static void check_plateau(struct extent early, struct extent (*more)(void))
{
    setlinebuf(stdout); /* a failed check does not flush it */
    for (int window = 0; window < WINDOWS; window++) {
        const struct extent late = more();
        if (is_plateau(&early, &late)) {
            return;
        }
        early = late;
    }
    CHECK_SAY(false, "memory or metadata grows with the number of threads, again and again");
}

/* Nothing lives but what the program itself has: on the drop-in that is what libc keeps, a little for each stack that
 * waits for the next thread. */
static void check_nothing_is_left(void)
{
    const struct tslab_stats stats = storm_stats();
    CHECK_SAY(stats.live_bytes < 256 << 10, "%zu objects of %zu bytes live", stats.live_objects, stats.live_bytes);
    CHECK_SAY(stats.slab_bytes < 2 << 20, "%zu bytes of slabs", stats.slab_bytes);
    CHECK_SAY(stats.large_bytes < 1 << 20, "%zu bytes are large", stats.large_bytes);
    CHECK_SAY(stats.epochs_open == 0 && stats.epochs_draining == 0, "epochs are left");
}

/* Frees what others left, leaves messages to others, and now and then ends inside of an epoch. */
static void *come_and_go(void *argument)
{
    uint64_t random = (uintptr_t)argument * 2654435761u + 1;
    struct message *messages[EACH];
    for (size_t i = 0; i < EACH; i++) {
        messages[i] = message_new(&random);
    }
    for (size_t i = 0; i < EACH; i++) {
        message_free(i % 4 == 0 ? swap_in_flight(&random, messages[i]) : messages[i]);
    }
    if (below(&random, 4) == 0) {
        CHECK(tslab_epoch_enter(common) >= 0);
        tslab_free(tslab_epoch_malloc(common, below(&random, 3000)));
    } else {
        live_in_an_epoch(&random);
    }
    still_to_come--;
    return NULL;
}

static void wave(int number, int count)
{
    const bool detached = number % 2 != 0;
    still_to_come = count;
    pthread_t threads[WAVE];
    for (int i = 0; i < count; i++) {
        threads[i] = storm_thread(come_and_go, (void *)(intptr_t)(number * WAVE + i), detached);
    }
    for (int i = 0; i < count && !detached; i++) {
        (void)thread_end(threads[i]);
    }
    await_their_end();
}

/* All are alive at once in the first wave, and in the common epoch and one of their own, so that no later one can need
 * more records; and then at work. Each writes to more of its stack than a later one does: libc keeps stacks, with some
 * of what was touched. */
static void *wait_for_all(void *all)
{
    char stack[32 * 1024];
    keep(memset(stack, 1, sizeof stack));
    const tslab_epoch own = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(common) >= 0 && tslab_epoch_enter(own) >= 0);
    pthread_barrier_wait(all);
    STATUS(tslab_epoch_leave(own), TSLAB_OK);
    STATUS(tslab_epoch_close(own, 0, NULL), TSLAB_OK);
    return come_and_go(stack);
}

static void first_wave(void)
{
    still_to_come = FIRST;
    pthread_barrier_t all;
    CHECK(pthread_barrier_init(&all, NULL, FIRST) == 0);
    pthread_t threads[FIRST];
    storm_threads(threads, FIRST, wait_for_all, &all, 0);
    threads_end(threads, FIRST);
}

static int waves_in_window;

static struct extent come_in_waves(void)
{
    static int number;
    for (int i = 0; i < waves_in_window; i++) {
        wave(number++, WAVE);
    }
    return measure();
}

static void come(int count)
{
    waves_in_window = count / WAVE / 5;
    first_wave();
    const struct extent early = come_in_waves();
    waves_in_window = count / WAVE - waves_in_window;
    check_plateau(early, come_in_waves);
}

/* All at once. */

enum { KEPT = 20 };

static pthread_barrier_t barrier;
static struct message *(*kept)[KEPT];
static size_t crowd;

/* Everybody allocates, everybody waits, and everybody frees what a neighbour allocated. */
static void *stand(void *argument)
{
    const size_t self = (size_t)(uintptr_t)argument;
    uint64_t random = self + 1;
    for (size_t i = 0; i < KEPT; i++) {
        kept[self][i] = message_new(&random);
    }
    const tslab_epoch own = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(own) >= 0);
    pthread_barrier_wait(&barrier);
    tslab_free(tslab_epoch_malloc(own, 100));
    STATUS(tslab_epoch_leave(own), TSLAB_OK);
    STATUS(tslab_epoch_close(own, 0, NULL), TSLAB_OK);
    for (size_t i = 0; i < KEPT; i++) {
        message_free(kept[(self + 1) % crowd][i]);
    }
    return NULL;
}

static struct extent stand_together(void)
{
    pthread_t *const threads = calloc(crowd, sizeof *threads);
    kept = calloc(crowd, sizeof *kept);
    CHECK(threads != NULL && kept != NULL);
    CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)crowd + 1) == 0);
    storm_threads(threads, crowd, stand, NULL, 1);
    pthread_barrier_wait(&barrier);
    const size_t together_kib = resident_kib();
    threads_end(threads, crowd);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    free(threads);
    free(kept);
    const struct extent after = measure();
    printf("%zu threads at once: resident %zu KiB, %zu when they are gone\n", crowd, together_kib, after.resident_kib);
    return after;
}

static void stand_again(size_t count)
{
    crowd = count;
    const struct extent first = stand_together();
    CHECK_SAY(first.records <= crowd + threads_at_rest, "%u records for %zu threads", first.records, crowd);
    check_plateau(first, stand_together);
}

int main(int argc, char **argv)
{
    const int count = argc == 3 ? atoi(argv[2]) : 0;
    const bool comes = count > 0 && strcmp(argv[1], "come") == 0;
    CHECK_SAY(count >= 10 * WAVE && (comes || strcmp(argv[1], "stand") == 0),
              "usage: waves come|stand THREADS (at least %d)", 10 * WAVE);
    common = tslab_epoch_open(NULL);
    tslab_free(tslab_malloc(1));
    threads_at_rest = storm_stats().threads;
    if (comes) {
        come(count);
    } else {
        stand_again((size_t)count);
    }
    free_in_flight();
    STATUS(tslab_epoch_close(common, 0, NULL), TSLAB_OK);
    (void)tslab_trim();
    check_nothing_is_left();
    return 0;
}
