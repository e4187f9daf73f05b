/* Handles: only the right one, in the right epoch, at the right time, is followed. */
#include "epoch.h"

static tslab_handle made(tslab_epoch epoch, size_t size, uint64_t seed, void **p)
{
    *p = NULL;
    const tslab_handle handle = tslab_handle_malloc(epoch, size, p);
    CHECK_SAY(handle.id != 0, "%zu bytes: %s", size, strerror(errno));
    fill(*p, size, seed);
    CHECK(tslab_handle_get(epoch, handle) == *p);
    CHECK(same(tslab_epoch_of(*p), epoch));
    return handle;
}

static void refused(tslab_epoch epoch, tslab_handle handle)
{
    CHECK_SAY(tslab_handle_get(epoch, handle) == NULL, "%#llx is followed", (unsigned long long)handle.id);
    STATUS(tslab_handle_free(epoch, handle), TSLAB_STALE);
}

CASE(what_is_too_large_is_refused)
{
    static const size_t sizes[] = { SIZE_MAX / 2, SIZE_MAX - 8, SIZE_MAX };
    const tslab_epoch epoch = opened();
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        int untouched;
        void *p = &untouched;
        errno = 0;
        CHECK(tslab_handle_malloc(epoch, sizes[i], &p).id == 0 && errno == ENOMEM);
        CHECK(p == &untouched);
    }
    ALIVE(epoch, 0);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* Old ones. */

static void one_place_so_often(size_t count)
{
    const tslab_epoch epoch = opened();
    const tslab_handle first = tslab_handle_malloc(epoch, 64, NULL);
    STATUS(tslab_handle_free(epoch, first), TSLAB_OK);
    for (size_t i = 0; i < count; i++) {
        const tslab_handle handle = tslab_handle_malloc(epoch, 64, NULL);
        CHECK(handle.id != first.id);
        refused(epoch, first);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* Nearly as often as 24 bits count. */
CASE(nor_after_very_many_times)
{
    one_place_so_often(times(16 * MEGABYTE - 2));
}

/* Races. */

enum { RACERS = 4, RACED = 2000 };
static struct {
    pthread_barrier_t barrier;
    tslab_epoch epoch;
    tslab_handle handles[RACED];
    void *places[RACED];
    atomic_uint freed[RACED];
    size_t rounds;
} race;

/* All free all, each in another order; now and then somebody makes a new one in between. */
static void *race_to_free(void *argument)
{
    const size_t self = (uintptr_t)argument;
    static const size_t strides[RACERS] = { 1, 3, 1999, 7 };
    for (size_t round = 0; round < race.rounds; round++) {
        pthread_barrier_wait(&race.barrier);
        if (self % 2 == 0) {
            enter(race.epoch);
        }
        for (size_t i = 0; i < RACED; i++) {
            const size_t at = (i * strides[self] + self * 17) % RACED;
            void *const p = tslab_handle_get(race.epoch, race.handles[at]);
            CHECK(p == NULL || p == race.places[at]);
            const int status = tslab_handle_free(race.epoch, race.handles[at]);
            CHECK(status == TSLAB_OK || status == TSLAB_STALE);
            if (status == TSLAB_OK) {
                atomic_fetch_add(&race.freed[at], 1);
            }
            CHECK(tslab_handle_get(race.epoch, race.handles[at]) == NULL);
            if (i % 16 == self) {
                const tslab_handle other = tslab_handle_malloc(race.epoch, 64, NULL);
                STATUS(tslab_handle_free(race.epoch, other), TSLAB_OK);
            }
        }
        if (self % 2 == 0) {
            leave(race.epoch);
        }
        pthread_barrier_wait(&race.barrier);
    }
    return NULL;
}

CASE(one_of_many_frees_it)
{
    race.rounds = times(100);
    race.epoch = opened();
    CHECK(pthread_barrier_init(&race.barrier, NULL, RACERS + 1) == 0);
    pthread_t threads[RACERS];
    threads_begin(threads, RACERS, race_to_free, NULL, 1);
    for (size_t round = 0; round < race.rounds; round++) {
        for (size_t i = 0; i < RACED; i++) {
            race.handles[i] = made(race.epoch, 64, i, &race.places[i]);
            atomic_store(&race.freed[i], 0);
        }
        pthread_barrier_wait(&race.barrier);
        pthread_barrier_wait(&race.barrier);
        for (size_t i = 0; i < RACED; i++) {
            CHECK_SAY(race.freed[i] == 1, "a handle was freed %u times", race.freed[i]);
        }
        ALIVE(race.epoch, 0);
    }
    threads_end(threads, RACERS);
    STATUS(tslab_epoch_close(race.epoch, 0, NULL), TSLAB_OK);
    check_gone(race.epoch);
}

CASE(nor_after_2_to_the_28_times)
{
    one_place_so_often(((size_t)1 << 28) + 16);
}

int main(int argc, char **argv)
{
    tests_count -= argc == 1; /* the last takes long: only when it is asked for */
    return tests_main(argc, argv);
}
