/* Handles: only the right one, in the right epoch, at the right time, is followed. */
#include "epoch.h"

enum { SIZES_MOST = 100 * KILOBYTE };

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

/* Handles that were never given out. */

enum { MANY = 300 };
struct live {
    tslab_handle handle;
    void *p;
    size_t size;
};

static void make_many(tslab_epoch epoch, struct live *live, uint64_t seed)
{
    uint64_t random = seed + 1;
    for (size_t i = 0; i < MANY; i++) {
        live[i].size = i % 10 == 0 ? below(&random, SIZES_MOST / 3) : 16 + below(&random, 500);
        live[i].handle = made(epoch, live[i].size, i, &live[i].p);
    }
}

static void verify_many(tslab_epoch epoch, const struct live *live)
{
    for (size_t i = 0; i < MANY; i++) {
        CHECK(tslab_handle_get(epoch, live[i].handle) == live[i].p);
        verify(live[i].p, live[i].size, i);
    }
    ALIVE(epoch, MANY);
}

static void free_many(tslab_epoch epoch, const struct live *live)
{
    verify_many(epoch, live);
    for (size_t i = 0; i < MANY; i++) {
        STATUS(tslab_handle_free(epoch, live[i].handle), TSLAB_OK);
        refused(epoch, live[i].handle);
    }
}

static bool is_live(const struct live *live, uint64_t id)
{
    for (size_t i = 0; i < MANY; i++) {
        if (live[i].handle.id == id) {
            return true;
        }
    }
    return false;
}

CASE(made_up_handles_are_refused)
{
    static struct live live[MANY];
    const tslab_epoch epoch = opened();
    make_many(epoch, live, 1);
    uint64_t random = 51;
    for (size_t i = 0; i < times(4000000); i++) {
        const uint64_t id = random_next(&random);
        /* Numbers of all lengths, so that the low parts are met as well. */
        refused(epoch, (tslab_handle){ id });
        refused(epoch, (tslab_handle){ id >> (i % 64) });
        refused(epoch, (tslab_handle){ id << (i % 64) });
    }
    verify_many(epoch, live);
    /* Those that are almost right, but for those that happen to be right. */
    for (size_t i = 0; i < MANY; i++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            for (unsigned other = bit; other < 64; other++) {
                const uint64_t id = live[i].handle.id ^ (uint64_t)1 << bit ^ (other == bit ? 0 : (uint64_t)1 << other);
                if (!is_live(live, id)) {
                    refused(epoch, (tslab_handle){ id });
                }
            }
        }
        for (uint64_t by = 1; by < 2000; by++) {
            if (!is_live(live, live[i].handle.id + by)) {
                refused(epoch, (tslab_handle){ live[i].handle.id + by });
            }
            if (!is_live(live, live[i].handle.id - by)) {
                refused(epoch, (tslab_handle){ live[i].handle.id - by });
            }
        }
    }
    free_many(epoch, live);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

/* Old ones. */

enum { OLD = 1000 };

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

/* The epoch's end. */

/* Their memory is recycled like any. */
CASE(memory_of_handles_comes_back)
{
    enum { COUNT = 20000 };
    static tslab_handle handles[COUNT];
    const tslab_epoch epoch = opened();
    struct tslab_stats stats;
    size_t warm = 0;
    for (size_t round = 0; round < 40; round++) {
        const size_t size = 16 + 60 * (round % 10);
        for (size_t i = 0; i < COUNT; i++) {
            handles[i] = tslab_handle_malloc(epoch, size, NULL);
            CHECK(handles[i].id != 0);
        }
        for (size_t i = 0; i < COUNT; i++) {
            STATUS(tslab_handle_free(epoch, handles[i]), TSLAB_OK);
        }
        if (round == 20) {
            tslab_stats_get(&stats);
            warm = stats.committed_bytes + stats.metadata_bytes;
        }
    }
    tslab_stats_get(&stats);
    CHECK_SAY(stats.committed_bytes + stats.metadata_bytes <= warm + MEGABYTE, "from %zu to %zu", warm,
              stats.committed_bytes + stats.metadata_bytes);
    CHECK_SAY(stats_of(epoch).memory_bytes <= 2 * MEGABYTE, "%llu bytes are held without an object",
              (unsigned long long)stats_of(epoch).memory_bytes);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
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

/* Entities that come and go in a table that everybody uses; what is got is used only by who owns it. */

enum { ENTITIES = 256 };
static struct {
    tslab_epoch epoch;
    _Atomic uint64_t table[ENTITIES];
} world;

static void *live_in_the_world(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    enter(world.epoch);
    for (size_t i = 0; i < times(100000); i++) {
        const size_t at = below(&random, ENTITIES);
        const size_t size = 16 + below(&random, 300);
        void *p;
        const tslab_handle fresh = tslab_handle_malloc(world.epoch, size, &p);
        CHECK(fresh.id != 0);
        memcpy(p, &fresh.id, sizeof fresh.id);
        const tslab_handle old = { atomic_exchange(&world.table[at], fresh.id) };
        if (old.id != 0) {
            /* It is this thread's now, but others may still look it up. */
            const uint64_t *const place = tslab_handle_get(world.epoch, old);
            CHECK(place != NULL && *place == old.id);
            STATUS(tslab_handle_free(world.epoch, old), TSLAB_OK);
            refused(world.epoch, old);
        }
        (void)tslab_handle_get(world.epoch, (tslab_handle){ atomic_load(&world.table[below(&random, ENTITIES)]) });
    }
    leave(world.epoch);
    return NULL;
}

CASE(a_table_is_shared_by_threads)
{
    world.epoch = opened();
    in_threads(RACERS, live_in_the_world, (void *)1, 1);
    CHECK(stats_of(world.epoch).live_objects <= ENTITIES);
    for (size_t i = 0; i < ENTITIES; i++) {
        const tslab_handle handle = { world.table[i] };
        if (handle.id != 0) {
            STATUS(tslab_handle_free(world.epoch, handle), TSLAB_OK);
        }
    }
    ALIVE(world.epoch, 0);
    STATUS(tslab_epoch_close(world.epoch, 0, NULL), TSLAB_OK);
    check_gone(world.epoch);
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
