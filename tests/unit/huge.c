/* Huge pages where a program grows: when they are asked for, what they cost in memory and mappings, that what is freed
 * goes back, and that a system that refuses or is slow is left alone. */
#include "child.h"
#include "engine.h"
#include "faults.h"

#include "space/depot.h"
#include "space/huge_pages.h"

#include <tslab/tslab.h>

enum {
    SMALL_BYTES = 64,
    GROWN_MIB = 96,
    OBJECTS = (GROWN_MIB << 20) / SMALL_BYTES,
    PER_MIB = (1 << 20) / SMALL_BYTES,
    HUGE_PAGE_BYTES = 2 << 20
};

static char *objects[OBJECTS];
static uint64_t fill_ms;      /* what the system takes for a huge page */
static size_t requests, rest; /* ranges that were marked, and those that lost their mark */
static uintptr_t marked;      /* 0: none */

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

/* Of one huge page at a time, which loses its mark at once. */
static bool count_requests(void *start, size_t bytes, bool allowed)
{
    if (allowed) {
        CHECK(marked == 0 && bytes == HUGE_PAGE_BYTES && (uintptr_t)start % HUGE_PAGE_BYTES == 0);
        marked = (uintptr_t)start;
        requests++;
        clock_ms += fill_ms;
    } else if (marked != 0) {
        CHECK(marked == (uintptr_t)start && bytes == HUGE_PAGE_BYTES);
        marked = 0;
    } else {
        rest++;
    }
    return real.allow_huge(start, bytes, allowed);
}

static bool refuse_requests(void *start, size_t bytes, bool allowed)
{
    requests += allowed;
    return false;
}

static void begin(bool (*on_request)(void), bool (*allow)(void *start, size_t bytes, bool allowed))
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    os_calls.huge_on_request = on_request;
    os_calls.allow_huge = allow;
    live_in_arena_of(option_get(OPTION_ARENA_BYTES)); /* whose start asks */
}

/* Objects from the first to the end, so many MiB. */
static void grow(size_t from_mib, size_t to_mib)
{
    for (size_t i = from_mib * PER_MIB; i < to_mib * PER_MIB; i++) {
        objects[i] = keep(tslab_malloc(SMALL_BYTES));
        memset(objects[i], (int)(i % 251), SMALL_BYTES);
    }
}

static void check_and_free(size_t i)
{
    for (size_t at = 0; at < SMALL_BYTES; at++) {
        CHECK(objects[i][at] == (char)(i % 251));
    }
    tslab_free(objects[i]);
    objects[i] = NULL;
}

/* The same, each MiB of which takes so long. */
static void grow_slowly(size_t from_mib, size_t to_mib, uint64_t ms)
{
    for (size_t i = from_mib; i < to_mib; i++) {
        clock_ms += ms;
        grow(i, i + 1);
    }
}

IN_A_CHILD(small_programs_ask_nothing)
{
    begin(yes, count_requests);
    grow(0, 14);
    CHECK_SAY(requests == 0, "%zu requests", requests);
}

/* Faults take little of the time of a program that grows slowly. */
IN_A_CHILD(slow_growth_asks_late)
{
    begin(yes, count_requests);
    grow_slowly(0, 28, 4);
    CHECK_SAY(requests == 0, "%zu requests", requests);
    grow_slowly(28, 40, 4);
    CHECK_SAY(requests >= 1, "%zu requests", requests);
}

IN_A_CHILD(fast_growth_asks_early)
{
    begin(yes, count_requests);
    grow_slowly(0, 28, 1);
    CHECK_SAY(requests >= (28 - 20) / 2, "%zu requests", requests);
}

/* A program that has long had as much is not one that soars. */
IN_A_CHILD(growth_by_less_than_half_asks_late)
{
    begin(yes, count_requests);
    grow(0, 15);
    clock_ms += 1000;
    grow(15, 28);
    CHECK_SAY(requests == 0, "%zu requests", requests);
}

/* Long runs count for nothing, and come without huge pages. */
IN_A_CHILD(long_runs_ask_nothing)
{
    begin(yes, count_requests);
    for (size_t i = 0; i < 100; i++) {
        memset(keep(tslab_malloc(MIB)), 1, MIB);
    }
    grow(0, 14);
    CHECK_SAY(requests == 0, "%zu requests", requests);
}

IN_A_CHILD(ask_while_growing)
{
    begin(yes, count_requests);
    grow(0, 24);
    const size_t mappings = count_mappings();
    grow(24, GROWN_MIB);
    const size_t least = (GROWN_MIB - 40) / 2;
    CHECK_SAY(requests >= least && requests <= GROWN_MIB / 2, "%zu requests", requests);
    CHECK_SAY(count_mappings() <= mappings + 2, "%zu mappings became %zu", mappings, count_mappings());
    /* No more than a huge page is taken in advance. */
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.dirty_bytes <= HUGE_PAGE_BYTES, "%zu bytes are dirty", stats.dirty_bytes);
}

/* Holes of single pages, of units and of all: they are given back, and read as zero. */
IN_A_CHILD(give_back)
{
    enum { HOLES = 3 };
    static char *large[GROWN_MIB][HOLES];
    begin(yes, count_requests);
    tslab_free(keep(tslab_malloc(1)));
    const size_t start_kib = resident_kib();
    for (size_t i = 0; i < GROWN_MIB; i++) {
        grow(i, i + 1);
        for (size_t hole = 0; hole < HOLES; hole++) { /* a slot, and units */
            large[i][hole] = keep(tslab_malloc(hole == 0 ? 16 * KIB : 64 * KIB << hole));
            memset(large[i][hole], 1, 64 * KIB >> (hole == 0 ? 2 : 0));
        }
    }
    CHECK(requests > GROWN_MIB / 4);
    const size_t before_kib = resident_kib();
    for (size_t i = 0; i < GROWN_MIB; i++) {
        for (size_t hole = 0; hole < HOLES; hole++) {
            tslab_free(large[i][hole]);
        }
    }
    (void)tslab_trim();
    size_t after_kib = resident_kib();
    CHECK_SAY(before_kib - after_kib >= GROWN_MIB * 128, "%zu KiB became %zu", before_kib, after_kib);
    char *const zero = keep(tslab_calloc(1, 128 * KIB));
    CHECK(all_zero(zero, 128 * KIB));
    tslab_free(zero);
    for (size_t i = 0; i < OBJECTS; i++) {
        check_and_free(i);
    }
    (void)tslab_trim();
    after_kib = resident_kib();
    CHECK_SAY(after_kib <= start_kib + 24 * KIB, "%zu KiB became %zu", start_kib, after_kib);
    /* And again. */
    const size_t asked = requests;
    grow(0, GROWN_MIB);
    CHECK(requests > asked);
    for (size_t i = 0; i < OBJECTS; i++) {
        check_and_free(i);
    }
}

IN_A_CHILD(never_ask)
{
    begin(no, count_requests);
    grow(0, GROWN_MIB);
    CHECK_SAY(requests == 0 && rest == 0, "%zu requests", requests + rest);
    CHECK(!huge_is_possible());
}

/* All of the arena is marked, step by step, and no single page is asked for. */
static bool count_steps(void *start, size_t bytes, bool allowed)
{
    CHECK(allowed && bytes != HUGE_PAGE_BYTES);
    marked += bytes;
    requests++;
    return real.allow_huge(start, bytes, allowed);
}

IN_A_CHILD(mark_all)
{
    struct tslab_stats stats;
    option_values[OPTION_HUGE_PAGES] = HUGE_PAGES_ALWAYS;
    begin(yes, count_steps);
    grow(0, GROWN_MIB);
    tslab_stats_get(&stats);
    CHECK_SAY(marked == stats.committed_bytes && requests > 1, "%zu of %zu bytes in %zu steps", marked,
              stats.committed_bytes, requests);
    CHECK(!huge_is_possible());
}

IN_A_CHILD(mark_nothing)
{
    option_values[OPTION_HUGE_PAGES] = HUGE_PAGES_NEVER;
    begin(yes, count_requests);
    grow(0, GROWN_MIB);
    CHECK(requests == 0 && rest == 0 && !huge_is_possible());
}

IN_A_CHILD(ask_in_vain)
{
    begin(yes, refuse_requests);
    grow(0, GROWN_MIB);
    CHECK_SAY(requests == 1, "%zu requests", requests);
    for (size_t i = 0; i < OBJECTS; i++) {
        check_and_free(i);
    }
}

/* The time of huge pages is a sixtieth of all time, or less, where they take long. */
IN_A_CHILD(ask_slowly)
{
    enum { SLOW_MS = 20, ROUNDS = 4 };
    begin(yes, count_requests);
    fill_ms = SLOW_MS;
    grow(0, 64);
    CHECK_SAY(requests == 1, "%zu requests", requests);
    for (size_t i = 0; i < ROUNDS; i++) {
        clock_ms += 60 * SLOW_MS;
        grow(64 + 8 * i, 68 + 8 * i);
        CHECK_SAY(requests == 1 + i, "%zu requests", requests);
        clock_ms += 5 * SLOW_MS;
        grow(68 + 8 * i, 72 + 8 * i);
        CHECK_SAY(requests == 2 + i, "%zu requests", requests);
    }
}

/* Another thread grows while a huge page is filled. */
static bool grow_meanwhile(void *start, size_t bytes, bool allowed)
{
    const bool was_filling = marked != 0;
    const bool done = count_requests(start, bytes, allowed);
    if (allowed && !was_filling) {
        const size_t before = requests;
        bool clean;
        for (int i = 0; i < 4; i++) {
            const uint32_t first = depot_take_to_fill(1, &clean);
            CHECK(first != 0 && clean);
            depot_put(first, 1, true);
        }
        CHECK_SAY(requests == before, "%zu at once", 1 + requests - before);
    }
    return done;
}

IN_A_CHILD(grow_together)
{
    begin(yes, grow_meanwhile);
    grow(0, GROWN_MIB);
    CHECK_SAY(requests >= (GROWN_MIB - 40) / 2, "%zu requests", requests);
}
