/* Objects of different epochs share no memory; and the memory that an epoch is done with serves every other one and the
 * process, although nothing is closed. */
#include "epoch.h"

/* Whose units are: open addressing by unit, wide enough to stay sparse. */

enum { PLACES = 1 << 17, NOBODY = 0 };

static struct {
    uintptr_t unit;
    uint64_t owner; /* an epoch's id, or that of the process */
    size_t objects; /* that live in it; 0: nobody's now */
} units[PLACES];

static const uint64_t the_process = UINT64_MAX;

static size_t place_of(uintptr_t unit)
{
    size_t place = (unit * 0x9e3779b97f4a7c15u) >> 40 & (PLACES - 1);
    while (units[place].unit != unit && units[place].unit != 0) {
        place = (place + 1) & (PLACES - 1);
    }
    units[place].unit = unit;
    return place;
}

static uintptr_t last_unit(const void *p)
{
    return ((uintptr_t)p + tslab_usable_size(p) - 1) / UNIT;
}

static void born(const void *p, uint64_t owner)
{
    for (uintptr_t unit = (uintptr_t)p / UNIT; unit <= last_unit(p); unit++) {
        const size_t place = place_of(unit);
        CHECK_SAY(units[place].objects == 0 || units[place].owner == owner,
                  "%p of epoch %#llx lies in a unit of epoch %#llx", p, (unsigned long long)owner,
                  (unsigned long long)units[place].owner);
        units[place].owner = owner;
        units[place].objects++;
    }
}

static void dies(const void *p)
{
    for (uintptr_t unit = (uintptr_t)p / UNIT; unit <= last_unit(p); unit++) {
        const size_t place = place_of(unit);
        CHECK(units[place].objects > 0);
        units[place].objects--;
    }
}

enum { EPOCHS = 12, OBJECTS = 6000 };

struct owned {
    void *p;
    size_t size;
    uint64_t owner;
    tslab_epoch epoch; /* that a handle is asked for in */
    tslab_handle handle;
};

static struct owned objects[OBJECTS];

static void drop(struct owned *object)
{
    if (object->p == NULL) {
        return;
    }
    verify(object->p, object->size, object->owner);
    dies(object->p);
    if (object->handle.id != 0) {
        STATUS(tslab_handle_free(object->epoch, object->handle), TSLAB_OK);
    } else {
        tslab_free(object->p);
    }
    *object = (struct owned){ 0 };
}

static size_t size_to_isolate(uint64_t *random)
{
    const size_t what = below(random, 100);
    return 16 + (what < 70   ? below(random, 500)
                 : what < 90 ? below(random, 5000)
                 : what < 98 ? below(random, 33000)
                             : below(random, 100 * KILOBYTE));
}

/* Everything that allocates, in random order: by name, by scope, in the process, by handle. */
CASE(random_traffic_is_isolated)
{
    static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_DRAIN };
    tslab_epoch epochs[EPOCHS];
    uint64_t random = 41;
    for (size_t i = 0; i < EPOCHS - 2; i++) {
        epochs[i] = opened_as(NULL, policies[i % COUNT_OF(policies)]);
    }
    const tslab_instance instance = tslab_instance_open("beside");
    epochs[EPOCHS - 2] = tslab_instance_root(instance);
    epochs[EPOCHS - 1] = opened_with(&(struct tslab_epoch_options){ .instance = instance });
    for (size_t i = 0; i < times(400000); i++) {
        struct owned *const object = &objects[below(&random, OBJECTS)];
        drop(object);
        const tslab_epoch epoch = epochs[below(&random, EPOCHS)];
        object->size = size_to_isolate(&random);
        object->owner = epoch.id;
        object->epoch = epoch;
        const size_t way = below(&random, 8);
        if (way == 0) {
            object->owner = the_process;
            object->p = tslab_malloc(object->size);
            CHECK(same(tslab_epoch_of(object->p), no_epoch));
        } else if (way == 1 && object->size <= 32 * KILOBYTE) {
            object->handle = tslab_handle_malloc(epoch, object->size, &object->p);
        } else if (way == 2) {
            enter(epoch);
            object->p = tslab_malloc(object->size);
            if (!same(tslab_epoch_of(object->p), epoch)) {
                CHECK(same(tslab_epoch_of(object->p), no_epoch)); /* of a RELEASE epoch */
                object->owner = the_process;
            }
            leave(epoch);
        } else if (way == 3) {
            object->p = tslab_epoch_aligned_alloc(epoch, (size_t)16 << below(&random, 9), object->size);
        } else {
            object->p = tslab_epoch_malloc(epoch, object->size);
        }
        fill(object->p, object->size, object->owner);
        CHECK(object->owner == the_process || same(tslab_epoch_of(object->p), (tslab_epoch){ object->owner }));
        born(object->p, object->owner);
        if (below(&random, 3000) == 0) {
            /* Empty memory comes into other hands. */
            for (size_t n = 0; n < OBJECTS; n++) {
                if (below(&random, 4) != 0) {
                    drop(&objects[n]);
                }
            }
            if (below(&random, 4) == 0) {
                (void)tslab_trim();
            }
        }
    }
    for (size_t n = 0; n < OBJECTS; n++) {
        drop(&objects[n]);
    }
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    for (size_t i = 0; i < EPOCHS - 2; i++) {
        ALIVE(epochs[i], 0);
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
    }
}

/* Recycling without any close. */

enum { MOST = 1 << 20 };
static void *bulk[MOST];

/* Fills so many bytes with objects of one size, marks the units that they are in, and frees them all. Returns how many
 * of those units had been marked before. */
static size_t fill_and_empty(tslab_epoch epoch, size_t size, size_t bytes, size_t *all_units)
{
    const size_t count = bytes / size;
    size_t seen_before = 0;
    CHECK(count <= MOST);
    *all_units = 0;
    for (size_t i = 0; i < count; i++) {
        bulk[i] = epoch.id != 0 ? tslab_epoch_malloc(epoch, size) : tslab_malloc(size);
        CHECK(bulk[i] != NULL && same(tslab_epoch_of(bulk[i]), epoch));
        memset(bulk[i], 1, size);
        const size_t place = place_of((uintptr_t)bulk[i] / UNIT);
        if (units[place].objects == 0) {
            units[place].objects = 1;
            (*all_units)++;
            seen_before += units[place].owner != NOBODY;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const size_t place = place_of((uintptr_t)bulk[i] / UNIT);
        units[place].owner = the_process;
        units[place].objects = 0;
        tslab_free(bulk[i]);
    }
    return seen_before;
}

static const size_t sizes[] = { 16, 48, 64, 80, 200, 512, 1000, 2048, 5000, 12000, 30000, 100000 };

static size_t memory_in_use(void)
{
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    return stats.committed_bytes - stats.dirty_bytes; /* what waits for reuse depends on the time */
}

CASE(emptied_memory_serves_other_epochs)
{
    enum { ROUNDS = 60, EACH = 8 * MEGABYTE };
    static tslab_epoch epochs[ROUNDS];
    size_t all_units, most = 0, reused = 0, used = 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        /* The process takes part. */
        epochs[i] = i % 8 == 7 ? no_epoch : opened();
        const bool inside = i % 3 == 0 && epochs[i].id != 0;
        if (inside) {
            enter(epochs[i]);
        }
        const size_t before = fill_and_empty(epochs[i], sizes[i * 5 % COUNT_OF(sizes)], EACH, &all_units);
        if (i > 0) {
            reused += before;
            used += all_units;
        }
        if (inside) {
            leave(epochs[i]);
        }
        const size_t now = resident_kib();
        most = now > most ? now : most;
    }
    /* 480 MiB in all. */
    CHECK_SAY(EPOCH_SANITIZED || most < 64 * KILOBYTE, "%zu KiB were resident", most);
    CHECK_SAY(memory_in_use() < (size_t)96 * MEGABYTE, "%zu bytes are accessible", memory_in_use());
    CHECK_SAY(reused * 10 >= used * 9, "%zu of %zu units had served another before", reused, used);
    for (size_t i = 0; i < ROUNDS; i++) {
        if (epochs[i].id != 0) {
            const struct tslab_epoch_stats stats = stats_of(epochs[i]);
            CHECK(stats.state == TSLAB_EPOCH_OPEN && stats.live_objects == 0);
            CHECK_SAY(stats.recycled_runs > 0, "epoch %zu says that none of its memory was recycled", i);
            CHECK_SAY(stats.memory_bytes <= MEGABYTE, "an empty epoch holds %llu bytes",
                      (unsigned long long)stats.memory_bytes);
            STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
        }
    }
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
        /* The most live bytes, as many again on their way, and the bytes that caches may hold. */
        const uint64_t limit = 4 * (uint64_t)HANDED * handed.size + 4 * MEGABYTE;
        CHECK_SAY(most_memory <= limit, "%zu bytes each: %llu bytes were held, %llu would do", handed.size,
                  (unsigned long long)most_memory, (unsigned long long)limit);
        ALIVE(handed.epoch, 0);
        STATUS(tslab_epoch_close(handed.epoch, 0, NULL), TSLAB_OK);
        check_gone(handed.epoch);
    }
}
