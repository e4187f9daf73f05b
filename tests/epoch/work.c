/* Units of work with each TSLAB_EPOCH_POLICY, on the clock of the system and for long. Each case is a program with the
 * policy in its environment. The fuzzer's oracle knows the rest: nesting, pauses, scopes by hand, epochs closed by
 * hand, rotation, several threads, threads that end in a unit. */
#include "epoch.h"

#define POLICY(value) "TSLAB_EPOCH_POLICY=" value

static void begin(void)
{
    STATUS(tslab_work_begin("unit"), TSLAB_OK);
}

static void end(void)
{
    STATUS(tslab_work_end(), TSLAB_OK);
}

/* Where plain malloc lands. */
static tslab_epoch lands(void)
{
    void *const p = fill(tslab_malloc(100), 100, 1);
    const tslab_epoch epoch = tslab_epoch_of(p);
    tslab_free(p);
    return epoch;
}

/* The epoch that a whole unit is in. */
static tslab_epoch unit(void)
{
    begin();
    const tslab_epoch epoch = lands();
    CHECK(same(tslab_epoch_current(), epoch));
    tslab_free(tslab_malloc(3000));
    CHECK(same(lands(), epoch));
    end();
    CHECK(same(lands(), no_epoch));
    CHECK(same(tslab_epoch_current(), no_epoch));
    return epoch;
}

static void units_without_any_epoch(void)
{
    for (int i = 0; i < 10; i++) {
        CHECK(same(unit(), no_epoch));
        tslab_work_rotate();
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

CASE(never_is_the_default)
{
    CHECK(getenv("TSLAB_EPOCH_POLICY") == NULL);
    units_without_any_epoch();
}

CASE_WITH(POLICY("never"), never_does_nothing)
{
    units_without_any_epoch();
}

CASE_WITH(POLICY("per-request"), per_request_gives_each_unit_an_epoch)
{
    tslab_epoch before = no_epoch;
    for (int i = 0; i < 100; i++) {
        const tslab_epoch epoch = unit();
        CHECK(epoch.id != 0 && !same(epoch, before));
        check_gone(epoch);
        before = epoch;
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

CASE_WITH(POLICY("batch-1000000"), batch_of_the_most)
{
    const tslab_epoch epoch = unit();
    for (size_t i = 1; i < times(1000000) - 1; i++) {
        begin();
        end();
    }
    CHECK(same(unit(), epoch));
}

CASE_WITH(POLICY("interval-30"), an_interval_ends_with_a_unit)
{
    tslab_epoch before = no_epoch;
    for (int i = 0; i < 4; i++) {
        const tslab_epoch epoch = unit();
        CHECK(epoch.id != 0 && !same(epoch, before));
        begin();
        /* However long it takes, a unit is in one epoch. If it has begun in this one, the time is up at its end. */
        const tslab_epoch during = lands();
        usleep(50 * 1000);
        CHECK(same(lands(), during));
        end();
        if (same(during, epoch)) {
            check_gone(epoch);
        }
        check_gone(during);
        before = during;
    }
}

CASE_WITH(POLICY("interval-86400000"), a_long_interval_goes_on)
{
    const tslab_epoch epoch = unit();
    CHECK(epoch.id != 0);
    for (int i = 0; i < 1000; i++) {
        CHECK(same(unit(), epoch));
    }
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_OPEN);
}

CASE_WITH(POLICY("manual"), manual_waits_for_rotate)
{
    tslab_epoch before = no_epoch;
    for (int i = 0; i < 5; i++) {
        const tslab_epoch epoch = unit();
        CHECK(epoch.id != 0 && !same(epoch, before));
        for (int n = 0; n < 20; n++) {
            CHECK(same(unit(), epoch));
        }
        tslab_work_rotate();
        before = epoch;
    }
    /* In the middle of a unit: from its end on. */
    begin();
    const tslab_epoch during = lands();
    tslab_work_rotate();
    CHECK(same(lands(), during));
    end();
    check_gone(during);
    CHECK(!same(unit(), during));
}

/* A worker as in a server, in every policy: memory does not grow. */
CASE_WITH(POLICY("never"), serve)
{
    static void *sessions[64];
    uint64_t random = 3;
    struct tslab_stats stats;
    size_t warm = 0;
    for (size_t i = 0; i < times(20000); i++) {
        begin();
        void *parsed[50];
        for (size_t n = 0; n < COUNT_OF(parsed); n++) {
            parsed[n] = fill(tslab_malloc(16 + n * 9), 16 + n * 9, n);
        }
        const size_t at = below(&random, COUNT_OF(sessions));
        if (sessions[at] != NULL) {
            verify_and_free(sessions[at], 200, at);
        }
        sessions[at] = fill(tslab_malloc(200), 200, at);
        for (size_t n = 0; n < COUNT_OF(parsed); n++) {
            verify_and_free(parsed[n], 16 + n * 9, n);
        }
        end();
        if (i == times(20000) / 4) {
            tslab_stats_get(&stats);
            warm = stats.committed_bytes + stats.metadata_bytes;
        }
    }
    tslab_stats_get(&stats);
    CHECK_SAY(stats.committed_bytes + stats.metadata_bytes <= warm + 6 * MEGABYTE, "from %zu to %zu bytes", warm,
              stats.committed_bytes + stats.metadata_bytes);
    CHECK_SAY(tslab_epoch_list(NULL, 0) <= COUNT_OF(sessions) + 1, "there are %zu epochs", tslab_epoch_list(NULL, 0));
}

ALSO_WITH(POLICY("per-request"), serve);
ALSO_WITH(POLICY("batch-10"), serve);
ALSO_WITH(POLICY("interval-5"), serve);
ALSO_WITH(POLICY("manual"), serve);
