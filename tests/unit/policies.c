/* The policies of purging: what is still resident after a burst, at once and later, with a clock of the test's. */
#include "child.h"
#include "engine.h"
#include "faults.h"

#include "space/reclaim.h"

#include <tslab/tslab.h>

enum { OBJECTS = 64, LARGE_BYTES = 600 * 1024, DELAY_MS = 500 };

static void *blocks[OBJECTS];
static uint64_t clock_ms = 1000;

static uint64_t test_clock(void)
{
    return clock_ms;
}

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

/* What ends a slow operation. */
static void operate(void)
{
    reclaim_tick();
}

static size_t dirty_mib(void)
{
    return counter_get(&depot.units[RUN_DIRTY]) * UNIT_BYTES / MIB;
}

static void eager_keeps_nothing(const void *argument)
{
    (void)argument;
    begin(PURGE_EAGER);
    for (unsigned i = 0; i < 5; i++) {
        burst();
        CHECK_SAY(dirty_mib() == 0, "%zu MiB are dirty", dirty_mib());
    }
    CHECK(counter_get(&purged_lately.mistaken_units) != 0); /* each burst takes back what the one before gave away */
}

static void delayed_keeps_all_for_a_time(const void *argument)
{
    (void)argument;
    begin(PURGE_DELAYED);
    burst();
    CHECK_SAY(dirty_mib() > 30 && atomic_load(&calls_made[PURGE]) == 0, "%zu MiB are dirty", dirty_mib());
    clock_ms += DELAY_MS / 2;
    operate();
    CHECK(dirty_mib() > 30);
    clock_ms += DELAY_MS;
    operate();
    operate();
    CHECK_SAY(dirty_mib() < 4, "%zu MiB are dirty", dirty_mib());
}

static void never_keeps_all(const void *argument)
{
    (void)argument;
    begin(PURGE_NEVER);
    burst();
    clock_ms += 1000 * DELAY_MS;
    operate();
    burst();
    CHECK(dirty_mib() > 30 && atomic_load(&calls_made[PURGE]) == 0);
    (void)tslab_trim();
    CHECK(dirty_mib() == 0);
}

static void adaptive_keeps_what_comes_back(const void *argument)
{
    (void)argument;
    begin(PURGE_ADAPTIVE);
    burst();
    CHECK_SAY(dirty_mib() < 4, "%zu MiB are dirty", dirty_mib());
    burst();
    burst();
    const size_t mistaken = counter_get(&purged_lately.mistaken_units);
    const unsigned calls = atomic_load(&calls_made[PURGE]);
    CHECK(mistaken != 0);
    burst();
    burst();
    CHECK(atomic_load(&calls_made[PURGE]) == calls && counter_get(&purged_lately.mistaken_units) == mistaken);
}

static void what_comes_back_late_was_no_mistake(const void *argument)
{
    (void)argument;
    begin(PURGE_ADAPTIVE);
    for (unsigned i = 0; i < 5; i++, clock_ms += 2000) {
        burst();
    }
    CHECK(counter_get(&purged_lately.mistaken_units) == 0);
}

/* Bursts with pauses longer than the delay, and shorter than what is a mistake. */
static void pauses_are_learned(const void *argument)
{
    (void)argument;
    begin(PURGE_ADAPTIVE);
    for (unsigned i = 0; i < 4; i++, clock_ms += DELAY_MS + 200) {
        burst();
        operate();
    }
    const unsigned calls = atomic_load(&calls_made[PURGE]);
    const size_t mistaken = counter_get(&purged_lately.mistaken_units);
    CHECK(mistaken != 0 && mistaken < 4 * (size_t)OBJECTS * LARGE_BYTES / UNIT_BYTES / 2);
    for (unsigned i = 0; i < 20; i++, clock_ms += DELAY_MS + 200) {
        burst();
        operate();
    }
    CHECK_SAY(atomic_load(&calls_made[PURGE]) == calls, "%u calls", atomic_load(&calls_made[PURGE]) - calls);
    CHECK(counter_get(&purged_lately.mistaken_units) == mistaken && dirty_mib() > 30);
    /* A program that is done loses it all the same. */
    clock_ms += 4 * DELAY_MS + 1;
    for (unsigned i = 0; i < 4; i++) {
        operate();
    }
    CHECK_SAY(dirty_mib() == 0, "%zu MiB are dirty", dirty_mib());
    /* And what is purged late, and not wanted, makes it impatient again. */
    for (unsigned i = 0; i < 4; i++) {
        clock_ms += 10 * DELAY_MS;
        burst();
        clock_ms += 10 * DELAY_MS;
        operate();
        operate();
    }
    clock_ms += 10 * DELAY_MS;
    burst();
    clock_ms += DELAY_MS + 1;
    operate();
    operate();
    CHECK_SAY(dirty_mib() == 0, "%zu MiB are dirty", dirty_mib());
}

static void a_limit_holds_for_all(const void *argument)
{
    (void)argument;
    static const enum purge_policy policies[] = { PURGE_ADAPTIVE, PURGE_DELAYED, PURGE_LAZY, PURGE_NEVER };
    option_values[OPTION_RETAIN_LIMIT_BYTES] = 8 * MIB;
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        begin(policies[i]);
        for (unsigned n = 0; n < 5; n++) {
            burst();
            CHECK_SAY(dirty_mib() <= 8, "policy %zu: %zu MiB are dirty", i, dirty_mib());
        }
    }
}

/* The kernel may take what was offered at any time, and trim takes it at once. */
static void lazy_offers(const void *argument)
{
    (void)argument;
    begin(PURGE_LAZY);
    burst();
    CHECK_SAY(dirty_mib() < 4, "%zu MiB are dirty", dirty_mib());
    CHECK(atomic_load(&calls_made[OFFER]) != 0 && atomic_load(&calls_made[PURGE]) == 0);
    CHECK(counter_get(&reclaim_counters.offered) > 30 * MIB && counter_get(&reclaim_counters.bytes) == 0);
    /* What was offered serves again, whatever the kernel did with it, and is not taken for zero. */
    for (size_t i = 0; i < OBJECTS; i++) {
        blocks[i] = keep(tslab_calloc(1, LARGE_BYTES));
        CHECK(all_zero(blocks[i], LARGE_BYTES));
    }
    CHECK(counter_get(&purged_lately.mistaken_units) == 0);
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(blocks[i]);
    }
    (void)tslab_trim();
    CHECK(dirty_mib() == 0 && counter_get(&depot.units[RUN_STUCK]) == 0);
    CHECK(counter_get(&reclaim_counters.bytes) > 30 * MIB);
}

static void a_kernel_that_does_not_know_offers(const void *argument)
{
    (void)argument;
    begin(PURGE_LAZY);
    inject(OFFER, 0, UINT32_MAX);
    os_calls.now_ms = test_clock;
    burst();
    CHECK_SAY(dirty_mib() < 4, "%zu MiB are dirty", dirty_mib());
    CHECK(atomic_load(&calls_made[PURGE]) != 0);
}

#define IN_A_CHILD(name, body)                                                                                         \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        if (!GUARDED) { /* which traps what is freed */                                                                \
            child_succeeds(body, NULL, "");                                                                            \
        }                                                                                                              \
    }

IN_A_CHILD(eager, eager_keeps_nothing)
IN_A_CHILD(delayed, delayed_keeps_all_for_a_time)
IN_A_CHILD(never, never_keeps_all)
IN_A_CHILD(adaptive, adaptive_keeps_what_comes_back)
IN_A_CHILD(late, what_comes_back_late_was_no_mistake)
IN_A_CHILD(pauses, pauses_are_learned)
IN_A_CHILD(limit, a_limit_holds_for_all)
IN_A_CHILD(lazy, lazy_offers)
IN_A_CHILD(lazy_without_a_kernel, a_kernel_that_does_not_know_offers)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager),    cmocka_unit_test(delayed), cmocka_unit_test(never),
        cmocka_unit_test(adaptive), cmocka_unit_test(late),    cmocka_unit_test(pauses),
        cmocka_unit_test(limit),    cmocka_unit_test(lazy),    cmocka_unit_test(lazy_without_a_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
