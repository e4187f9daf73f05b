/* Instances: allocators beside the default one. The fuzzer's oracle knows their roots, how they end, what refuses to
 * end, and which values name none. */
#include "epoch.h"

static tslab_instance instance_opened(const char *label)
{
    const tslab_instance instance = tslab_instance_open(label);
    CHECK_SAY(instance.id != 0, "no instance was opened: %s", strerror(errno));
    CHECK(tslab_instance_root(instance).id != 0);
    return instance;
}

static tslab_epoch opened_in(tslab_instance instance, enum tslab_policy policy)
{
    const tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .instance = instance, .policy = policy });
    CHECK(stats_of(epoch).instance.id == instance.id);
    return epoch;
}

/* Thousands, one after another and at once. */
CASE(there_may_be_many)
{
    enum { AT_ONCE = 1000 };
    static tslab_instance instances[AT_ONCE];
    static void *objects[AT_ONCE];
    size_t metadata = 0;
    struct tslab_stats stats;
    for (size_t i = 0; i < times(50000); i++) {
        const size_t at = i % AT_ONCE;
        if (instances[at].id != 0) {
            verify(objects[at], 100, at);
            STATUS(tslab_instance_close(instances[at], 0, NULL), TSLAB_OK);
            CHECK(tslab_instance_root(instances[at]).id == 0);
        }
        instances[at] = instance_opened("one of many");
        objects[at] = filled(tslab_instance_root(instances[at]), 100, at);
        if (i == 2 * AT_ONCE) {
            tslab_stats_get(&stats);
            metadata = stats.metadata_bytes;
        }
    }
    tslab_stats_get(&stats);
    CHECK_SAY(stats.metadata_bytes <= metadata + 64 * KILOBYTE, "the metadata grew from %zu to %zu", metadata,
              stats.metadata_bytes);
    CHECK(tslab_epoch_list(NULL, 0) == AT_ONCE);
    for (size_t i = 0; i < AT_ONCE; i++) {
        STATUS(tslab_instance_close(instances[i], 0, NULL), TSLAB_OK);
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

/* A hundred threads, each in every instance. */

enum { INSTANCES = 4, THREADS = 100 };
static tslab_instance shared[INSTANCES];

static void *use_them_all(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    void *objects[50] = { NULL };
    for (size_t i = 0; i < times(2000) + 100; i++) {
        const tslab_epoch epoch = tslab_instance_root(shared[below(&random, INSTANCES)]);
        const size_t at = below(&random, COUNT_OF(objects));
        if (objects[at] != NULL) {
            verify_and_free(objects[at], 100, at);
        }
        if (i % 3 == 0) {
            enter(epoch);
            objects[at] = filled(epoch, 100, at);
            leave(epoch);
        } else {
            objects[at] = filled(epoch, 100, at);
        }
    }
    for (size_t at = 0; at < COUNT_OF(objects); at++) {
        if (objects[at] != NULL) {
            verify_and_free(objects[at], 100, at);
        }
    }
    return NULL;
}

CASE(any_number_of_threads)
{
    for (size_t i = 0; i < INSTANCES; i++) {
        shared[i] = instance_opened("shared");
    }
    in_threads(THREADS, use_them_all, (void *)1, 1);
    for (size_t i = 0; i < INSTANCES; i++) {
        ALIVE(tslab_instance_root(shared[i]), 0);
        struct tslab_epoch_report report;
        STATUS(tslab_instance_close(shared[i], 0, &report), TSLAB_OK);
        CHECK(report.survivors == 0);
    }
}

/* Threads that share nothing: the epochs of one's instance end with it, whatever records the others take. */

enum { APART = 4, MOST_APART = 7 };

static void *use_one_of_its_own(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    for (size_t round = times(40000); round > 0; round--) {
        const tslab_instance instance = tslab_instance_open("own");
        tslab_epoch members[MOST_APART];
        const size_t count = 2 + random_next(&random) % (MOST_APART - 1);
        for (size_t i = 0; i < count; i++) {
            members[i] = tslab_epoch_open(&(struct tslab_epoch_options){ .instance = instance });
            CHECK(tslab_epoch_malloc(members[i], 50000) != NULL);
        }
        for (size_t i = 0; i < APART; i++) {
            STATUS(tslab_epoch_close(tslab_epoch_open(NULL), 0, NULL), TSLAB_OK);
        }
        if (random % 2 == 0) {
            CHECK(tslab_epoch_close(members[0], 0, NULL) >= 0);
        }
        STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
        for (size_t i = 0; i < count; i++) {
            STATUS(tslab_epoch_enter(members[i]), TSLAB_STALE);
        }
    }
    return NULL;
}

CASE(threads_that_share_nothing)
{
    in_threads(APART, use_one_of_its_own, (void *)1, 1);
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

CASE(its_memory_comes_back)
{
    enum { BYTES = 64 * MEGABYTE };
    tslab_free(tslab_malloc(1));
    const size_t before = resident_kib() * KILOBYTE;
    const tslab_instance instance = instance_opened("big");
    uint64_t random = 9;
    for (size_t sum = 0; sum < BYTES;) {
        const size_t size = some_size(&random);
        const tslab_epoch epoch =
            sum % 3 == 0 ? tslab_instance_root(instance) : opened_in(instance, TSLAB_POLICY_DRAIN);
        for (int i = 0; i < 200; i++) {
            memset(tslab_epoch_malloc(epoch, size), 1, size);
            sum += size;
        }
    }
    const size_t full = resident_kib() * KILOBYTE;
    struct tslab_epoch_report report;
    STATUS(tslab_instance_close(instance, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
    const size_t after = resident_kib() * KILOBYTE;
    CHECK_SAY(HEAVY || after <= before + (full - before) / 40, "%zu KiB before, %zu full, %zu afterwards",
              before / KILOBYTE, full / KILOBYTE, after / KILOBYTE);
    CHECK(report.reclaimed_bytes >= (uint64_t)BYTES / 100 * 95);
    CHECK(HEAVY || report.rss_change_bytes <= -(int64_t)((full - before) / 100 * 95));
}
