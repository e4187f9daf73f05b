/* The policies of purging: what is still resident after a burst, at once and later, with a clock of the test's. */
#include "child.h"
#include "engine.h"
#include "faults.h"

#include "space/reclaim.h"

#include <tslab/tslab.h>

enum { OBJECTS = 64, LARGE_BYTES = 600 * 1024, DELAY_MS = 500 };

static void *blocks[OBJECTS];

static void begin(enum purge_policy policy)
{
    option_values[OPTION_PURGE] = policy;
    option_values[OPTION_PURGE_DELAY_MS] = DELAY_MS;
    inject_nothing();
    os_calls.now_ms = test_clock;
}

/* Some 40 MiB, in and out. */
static void burst(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        blocks[i] = keep(tslab_malloc(LARGE_BYTES));
        memset(blocks[i], 1, LARGE_BYTES);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(blocks[i]);
    }
}

/* The ends of as many slow operations as it takes. */
static void operate(void)
{
    size_t before;
    do {
        before = counter_get(&depot.units[RUN_DIRTY]);
        reclaim_tick();
    } while (counter_get(&depot.units[RUN_DIRTY]) < before);
}

static size_t dirty_mib(void)
{
    return counter_get(&depot.units[RUN_DIRTY]) * UNIT_BYTES / MIB;
}

IN_A_CHILD(eager_keeps_nothing)
{
    begin(PURGE_EAGER);
    for (unsigned i = 0; i < 5; i++) {
        burst();
        CHECK_SAY(dirty_mib() == 0, "%zu MiB are dirty", dirty_mib());
    }
    CHECK(counter_get(&purged_lately.mistaken_units) != 0); /* each burst takes back what the one before gave away */
}

IN_A_CHILD(never_keeps_all)
{
    begin(PURGE_NEVER);
    burst();
    clock_ms += 1000 * DELAY_MS;
    operate();
    burst();
    CHECK(dirty_mib() > 30 && atomic_load(&calls_made[PURGE]) == 0);
    (void)tslab_trim();
    CHECK(dirty_mib() == 0);
}

static void fill(size_t bytes)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        blocks[i] = memset(keep(tslab_malloc(bytes)), 1, bytes);
    }
}

static void hold_for_long_and_free(void)
{
    fill(LARGE_BYTES);
    for (unsigned i = 0; i < 3; i++) {
        clock_ms += DELAY_MS;
        tslab_free(keep(tslab_malloc(LARGE_BYTES)));
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(blocks[i]);
    }
}

IN_A_CHILD(what_comes_and_goes_waits)
{
    begin(PURGE_ADAPTIVE);
    burst();
    const unsigned purges = atomic_load(&calls_made[PURGE]);
    for (unsigned i = 0; i < 5; i++) {
        burst();
        CHECK_SAY(dirty_mib() > 30 && atomic_load(&calls_made[PURGE]) == purges, "%zu MiB are dirty", dirty_mib());
        clock_ms += DELAY_MS / 4;
        operate();
    }
    clock_ms += DELAY_MS + 1;
    operate();
    CHECK(dirty_mib() > 30); /* it goes on after a pause */
    clock_ms += DELAY_MS + 1;
    operate();
    operate();
    CHECK_SAY(dirty_mib() == 0, "%zu MiB are dirty", dirty_mib());
}

/* Bursts with pauses that are longer than the delay. */
IN_A_CHILD(what_waits_through_a_pause_serves)
{
    begin(PURGE_ADAPTIVE);
    burst();
    const unsigned purges = atomic_load(&calls_made[PURGE]);
    for (unsigned i = 0; i < 10; i++) {
        burst();
        CHECK_SAY(atomic_load(&calls_made[PURGE]) == purges, "burst %u", i);
        clock_ms += DELAY_MS + 200;
    }
}

/* A keeper comes by, so all waits until it is old. */
IN_A_CHILD(what_a_keeper_sees_to_waits)
{
    begin(PURGE_ADAPTIVE);
    store_plain(&reclaim_is_kept, 1);
    hold_for_long_and_free();
    clock_ms += DELAY_MS + 1;
    operate();
    CHECK_SAY(dirty_mib() > 30, "%zu MiB are dirty", dirty_mib());
    while (reclaim_due()) {
    }
    CHECK_SAY(dirty_mib() == 0, "%zu MiB are dirty", dirty_mib());
}

/* Nobody may come by after the first burst of a program without a keeper. */
IN_A_CHILD(what_came_once_goes_at_once)
{
    begin(PURGE_ADAPTIVE);
    burst();
    CHECK_SAY(dirty_mib() <= 3, "%zu MiB are dirty", dirty_mib());
}

/* As much waits as comes and goes, up to 64 MiB. */
IN_A_CHILD(no_more_waits_than_64_mib)
{
    begin(PURGE_ADAPTIVE);
    for (unsigned i = 0; i < 3; i++) {
        tslab_free(memset(keep(tslab_malloc(200 * MIB)), 1, 200 * MIB));
    }
    CHECK_SAY(dirty_mib() > 48 && dirty_mib() <= 67, "%zu MiB are dirty", dirty_mib());
}

IN_A_CHILD(what_was_held_for_long_goes_at_once)
{
    begin(PURGE_ADAPTIVE);
    hold_for_long_and_free();
    CHECK_SAY(dirty_mib() <= 3, "%zu MiB are dirty", dirty_mib());
}

/* Blocks are replaced by longer ones, which none of the gaps that they leave can serve. */
IN_A_CHILD(what_waits_pays_for_growth)
{
    begin(PURGE_ADAPTIVE);
    fill(LARGE_BYTES);
    size_t most = 0;
    for (size_t i = 0; i < OBJECTS; i += 2) {
        tslab_free(blocks[i]);
        blocks[i] = memset(keep(tslab_malloc(LARGE_BYTES + UNIT_BYTES)), 1, LARGE_BYTES + UNIT_BYTES);
        most = max_size(most, counter_get(&depot.units[RUN_USED]) + counter_get(&depot.units[RUN_DIRTY]));
    }
    const size_t used = counter_get(&depot.units[RUN_USED]);
    CHECK_SAY(most <= used + used / 10, "%zu units were there, %zu are used", most, used);
    CHECK(atomic_load(&calls_made[PURGE]) >= OBJECTS / 4);
}

IN_A_CHILD(a_limit_holds_for_all)
{
    static const enum purge_policy policies[] = { PURGE_ADAPTIVE, PURGE_NEVER };
    option_values[OPTION_RETAIN_LIMIT_BYTES] = 8 * MIB;
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        begin(policies[i]);
        for (unsigned n = 0; n < 5; n++) {
            burst();
            CHECK_SAY(dirty_mib() <= 8, "policy %zu: %zu MiB are dirty", i, dirty_mib());
        }
    }
}

int main(void)
{
    if (GUARDED) { /* it traps what is freed */
        return 0;
    }
    return tests_run();
}
