/* Objects in epochs beyond those of the fuzzer: all sizes, growth in place, a long life, frees by another thread. */
#include "epoch.h"

#include <stdint.h>

/* Sizes: all small ones, then those around every multiple of a sixteenth of a power of two. */
static size_t next_size(size_t size)
{
    if (size < 2100) {
        return size + 1;
    }
    const size_t step = ((size_t)1 << (63 - __builtin_clzll(size))) / 16;
    return size % step == step - 1 || size % step == 0 ? size + 1 : size / step * step + step - 1;
}

static void check_size(tslab_epoch epoch, size_t size)
{
    unsigned char *const p = filled(epoch, size, size);
    const size_t usable = tslab_usable_size(p);
    /* The large ones end with a page. They begin at 16 KiB or so. */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CHECK_SAY(usable >= size && usable < size + size / 4 + 64 +
                                             (size > 32 * KILOBYTE ? UNIT
                                              : size > UNIT        ? page
                                                                   : 0),
              "%zu bytes are usable of %zu", usable, size);
    pattern_fill(p, usable, size); /* all of them */
    unsigned char *const zeroed = tslab_epoch_calloc(epoch, 1, size);
    CHECK(zeroed != NULL && all_zero(zeroed, size) && same(tslab_epoch_of(zeroed), epoch));
    pattern_fill(zeroed, tslab_usable_size(zeroed), size + 1);
    verify(p, usable, size);
    tslab_free(p);
    verify_and_free(zeroed, size, size + 1);
}

static void check_all_sizes(size_t largest)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    for (size_t size = 1; size <= largest; size = next_size(size)) {
        check_size(epoch, size);
    }
    ALIVE(epoch, 0);
    leave(epoch);
    for (size_t size = 1; size <= largest; size = next_size(size)) {
        check_size(epoch, size);
    }
    CHECK(stats_of(epoch).live_objects == 0 && stats_of(epoch).live_bytes == 0);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

CASE(any_size_is_served)
{
    check_all_sizes(EPOCH_SANITIZED ? 300000 : 8 * MEGABYTE);
}

CASE(large_sizes_are_served)
{
    static const size_t sizes[] = { (size_t)64 << 20, (size_t)300 << 20 };
    const tslab_epoch epoch = opened();
    for (size_t i = 0; i < COUNT_OF(sizes) - EPOCH_SANITIZED; i++) {
        char *const p = tslab_epoch_malloc(epoch, sizes[i]);
        CHECK(p != NULL && tslab_usable_size(p) >= sizes[i] && same(tslab_epoch_of(p), epoch));
        p[0] = p[sizes[i] - 1] = 1;
        CHECK(stats_of(epoch).live_objects == 1 && stats_of(epoch).live_bytes >= sizes[i]);
        CHECK(stats_of(epoch).memory_bytes >= sizes[i]);
        tslab_free(p);
        char *const zeroed = tslab_epoch_calloc(epoch, 1, sizes[i]);
        CHECK(zeroed != NULL && zeroed[0] == 0 && zeroed[sizes[i] - 1] == 0 && zeroed[sizes[i] / 2] == 0);
        tslab_free(zeroed);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

/* A string that is built up does not move at every step while nothing lies behind it. */
CASE(the_last_object_grows_in_place)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    size_t steps = 0, moves = 0;
    char *p = filled(epoch, 16, 1);
    for (size_t size = 32; size <= 4096; size += 16) {
        char *const before = p;
        p = tslab_realloc(p, size);
        verify(p, size - 16, 1);
        pattern_fill(p, size, 1);
        steps++;
        moves += p != before;
    }
    CHECK_SAY(moves * 10 <= steps, "it moved %zu times in %zu steps", moves, steps);
    /* Shrinking never has to move. */
    char *const before = p;
    p = tslab_realloc(p, 2048);
    CHECK(p == before);
    verify_and_free(p, 2048, 1);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* The ways to keep objects that are for long-lived epochs come into play only after a while. */
CASE(a_long_life_changes_nothing)
{
    enum { LIVE = 2000 };
    static struct {
        char *p;
        size_t size;
        uint64_t seed;
    } live[LIVE];
    const tslab_epoch epoch = opened();
    uint64_t random = 21;
    enter(epoch);
    for (size_t i = 0; i < times(3000000); i++) {
        const size_t at = below(&random, LIVE);
        if (live[at].p != NULL) {
            verify_and_free(live[at].p, live[at].size, live[at].seed);
        }
        live[at].size = some_size(&random) % 2000 + 1;
        live[at].seed = i;
        live[at].p = fill(tslab_malloc(live[at].size), live[at].size, i);
    }
    size_t count = 0, bytes = 0;
    for (size_t at = 0; at < LIVE; at++) {
        if (live[at].p != NULL) {
            CHECK(same(tslab_epoch_of(live[at].p), epoch));
            count++;
            bytes += tslab_usable_size(live[at].p);
        }
    }
    const struct tslab_epoch_stats stats = stats_of(epoch);
    CHECK_SAY(stats.live_objects == count && stats.live_bytes == bytes, "%llu objects of %llu bytes, not %zu of %zu",
              (unsigned long long)stats.live_objects, (unsigned long long)stats.live_bytes, count, bytes);
    /* It is no pool that only grows: about 1.1 MiB live, and some 650 MiB went through. */
    CHECK_SAY(stats.memory_bytes < 16 * MEGABYTE, "%llu bytes are held for %zu", (unsigned long long)stats.memory_bytes,
              bytes);
    for (size_t at = 0; at < LIVE; at++) {
        if (live[at].p != NULL) {
            verify_and_free(live[at].p, live[at].size, live[at].seed);
        }
    }
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

/* One thread allocates, another frees: what becomes empty is still found. */

enum { HANDED = 2000 };
static struct {
    pthread_barrier_t barrier;
    tslab_epoch epoch;
    void *objects[2][HANDED];
    size_t size, rounds;
    bool inside; /* the freeing thread, too */
} handed;

static void *free_what_is_handed(void *unused)
{
    if (handed.inside) {
        enter(handed.epoch);
    }
    for (size_t round = 0; round < handed.rounds; round++) {
        pthread_barrier_wait(&handed.barrier);
        for (size_t i = 0; i < HANDED; i++) {
            tslab_free(handed.objects[round % 2][i]);
        }
    }
    if (handed.inside) {
        leave(handed.epoch);
    }
    return NULL;
}

CASE(other_threads_empty_an_open_epoch)
{
    static const size_t some[] = { 48, 64, 300, 4096, 20000 };
    CHECK(pthread_barrier_init(&handed.barrier, NULL, 2) == 0);
    for (size_t n = 0; n < 2 * COUNT_OF(some); n++) {
        handed.epoch = opened();
        handed.size = some[n / 2];
        handed.inside = n % 2 == 1;
        /* Up to 256 MiB pass through, and at most two batches live. */
        const size_t most = (size_t)256 * MEGABYTE / (HANDED * handed.size);
        handed.rounds = most < times(300) ? most : times(300);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, free_what_is_handed, NULL) == 0);
        enter(handed.epoch);
        uint64_t most_memory = 0;
        for (size_t round = 0; round < handed.rounds; round++) {
            for (size_t i = 0; i < HANDED; i++) {
                handed.objects[round % 2][i] = tslab_malloc(handed.size);
                memset(handed.objects[round % 2][i], 1, handed.size);
            }
            const uint64_t memory = stats_of(handed.epoch).memory_bytes;
            most_memory = memory > most_memory ? memory : most_memory;
            pthread_barrier_wait(&handed.barrier);
        }
        CHECK(pthread_join(thread, NULL) == 0);
        leave(handed.epoch);
        CHECK(stats_of(handed.epoch).recycled_runs > 0);
        /* The most live bytes, as many again on their way, and the bytes that caches may hold. */
        const uint64_t limit = 4 * (uint64_t)HANDED * handed.size + 4 * MEGABYTE;
        CHECK_SAY(most_memory <= limit, "%zu bytes each: %llu bytes were held, %llu would do", handed.size,
                  (unsigned long long)most_memory, (unsigned long long)limit);
        ALIVE(handed.epoch, 0);
        STATUS(tslab_epoch_close(handed.epoch, 0, NULL), TSLAB_OK);
        check_gone(handed.epoch);
    }
}
