/* A kernel that does not take pages back: it is asked seldom, nothing is lost, and it is asked again in time. */
#include "child.h"
#include "engine.h"
#include "faults.h"

#include "malloc/current_thread.h"
#include "report/statistics.h"
#include "space/reclaim.h"

#include <tslab/tslab.h>

enum { OBJECTS = 1000, LARGE_BYTES = 300 * 1024, SMALL = 20000, DELAY_MS = 500 };

static void *large[OBJECTS];
static void *small[SMALL];

/* Free runs between living ones, more than the budget. */
static void make_dirt(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        large[i] = keep(tslab_malloc(LARGE_BYTES));
        memset(large[i], 1, LARGE_BYTES);
    }
    for (size_t i = 0; i < OBJECTS; i += 2) {
        tslab_free(large[i]);
        large[i] = NULL;
    }
}

static void clean_up(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(large[i]);
        large[i] = NULL;
    }
}

/* Slow operations of many kinds. */
static void work(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(keep(tslab_malloc(300000)));
    }
    for (size_t i = 0; i < SMALL; i++) {
        small[i] = keep(tslab_malloc(16 + i % 1000));
    }
    for (size_t i = 0; i < SMALL; i++) {
        tslab_free(small[i]);
    }
}

static bool refuses_all(void *start, size_t bytes)
{
    atomic_fetch_add(&calls_made[PURGE], 1);
    return false;
}

/* One unit is locked. */
static char *locked;

static bool refuses_one(void *start, size_t bytes)
{
    atomic_fetch_add(&calls_made[PURGE], 1);
    return !((char *)start <= locked && locked < (char *)start + bytes) && real.purge(start, bytes);
}

static void begin(bool (*purge)(void *start, size_t bytes))
{
    option_values[OPTION_PURGE] = PURGE_EAGER;
    option_values[OPTION_PURGE_DELAY_MS] = DELAY_MS;
    tslab_free(keep(tslab_malloc(1)));
    inject_nothing();
    os_calls.now_ms = test_clock;
    os_calls.purge = purge;
}

IN_A_CHILD(a_kernel_that_refuses_is_asked_seldom)
{
    begin(refuses_all);
    make_dirt();
    const unsigned first = calls_made[PURGE];
    CHECK(first > 0);
    work();
    /* The clock stands still: whoever was refused a moment ago does not ask again. */
    CHECK_SAY(calls_made[PURGE] == first, "%u calls more", calls_made[PURGE] - first);
    /* And in each further delay once, for one run. */
    enum { DELAYS = 10, EACH = 25 };
    for (int i = 0; i < DELAYS; i++) {
        clock_ms += DELAY_MS + 1;
        work();
    }
    CHECK_SAY(calls_made[PURGE] > first && calls_made[PURGE] <= first + DELAYS * EACH, "%u calls in %d delays",
              calls_made[PURGE] - first, DELAYS);
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.purge_refusals > 0 && stats.purged_bytes == 0);
    /* When it takes pages again, all goes. */
    os_calls.purge = real.purge;
    clean_up();
    (void)tslab_trim();
    stats_totals(&stats);
    CHECK_SAY(stats.dirty_bytes == 0, "%zu bytes are dirty", stats.dirty_bytes);
    CHECK(stats.purged_bytes > 0);
}

IN_A_CHILD_IF(!GUARDED, one_locked_page_stays_alone)
{
    enum { BYTES = 32 << 20 };
    begin(refuses_one);
    char *const p = keep(tslab_malloc(BYTES));
    memset(p, 1, BYTES);
    locked = p + BYTES / 3;
    tslab_free(p);
    for (int i = 0; i < 4; i++) {
        clock_ms += 4 * DELAY_MS + 1;
        work();
    }
    struct total_figures stats;
    stats_totals(&stats);
    CHECK_SAY(stats.purged_bytes >= BYTES - 2 * UNIT_BYTES, "of %u bytes %zu were purged", BYTES,
              (size_t)stats.purged_bytes);
    /* A refused run is memory like any other. */
    void *all[64];
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        all[i] = keep(tslab_calloc(1, LARGE_BYTES));
        CHECK(all_zero(all[i], LARGE_BYTES));
    }
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        tslab_free(all[i]);
    }
}

/* As many runs as there are may be refused. A trim tries all of them again, and builds with checks count its steps
 * under the depot's lock. */
IN_A_CHILD(a_trim_tries_all_that_was_refused)
{
    begin(refuses_all);
    make_dirt();
    for (int i = 0; i < 3; i++) {
        CHECK(tslab_trim() == 0);
        CHECK(GUARDED || counter_get(&depot.units[RUN_DIRTY]) >= OBJECTS / 2);
    }
    os_calls.purge = real.purge;
    CHECK(tslab_trim() > 0);
    CHECK(counter_get(&depot.units[RUN_DIRTY]) == 0);
    clean_up();
}

/* The rest of a large object that shrank goes back as freed memory does. */
IN_A_CHILD(a_shrinking_realloc_gives_back)
{
    enum { BYTES = 256 << 20, KEPT = 64 << 10 };
    begin(real.purge);
    os_calls.purge = real.purge;
    char *const p = keep(tslab_malloc(BYTES));
    memset(p, 1, BYTES);
    char *const q = keep(tslab_realloc(p, KEPT));
    for (size_t i = 0; i < KEPT; i++) {
        CHECK(q[i] == 1);
    }
    CHECK_SAY(resident_kib() < BYTES / 1024 / 8, "%zu KiB are resident", resident_kib());
    tslab_free(q);
}

static size_t faults_so_far(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (size_t)usage.ru_minflt;
}

/* A block that grows step by step, again and again, has its pages faulted in about twice. */
IN_A_CHILD_IF(!GUARDED, what_grows_again_is_faulted_in_once_more)
{
    enum { ROUNDS = 8, LEAST = 100000, MOST = 32 << 20 };
    begin(real.purge);
    os_calls.purge = real.purge;
    option_values[OPTION_PURGE] = PURGE_ADAPTIVE;
    const size_t faults = faults_so_far();
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t bytes = LEAST;
        char *p = memset(keep(tslab_malloc(bytes)), 1, bytes);
        while (bytes < MOST) {
            const size_t before = bytes;
            bytes += bytes / 10;
            p = keep(tslab_realloc(p, bytes));
            memset(p + before, 1, bytes - before);
            CHECK(p[0] == 1 && p[before - 1] == 1);
        }
        tslab_free(p);
    }
    const size_t most = MOST / os_page_bytes() * 4; /* a sanitizer has faults of its own */
    CHECK_SAY(faults_so_far() - faults <= most, "%zu faults, more than %zu", faults_so_far() - faults, most);
}

/* Begins with purges that the system carries out, with the policy that users have, and with a clock that the test
 * moves. */
static void begin_adaptive(void)
{
    begin(real.purge);
    os_calls.purge = real.purge;
    option_values[OPTION_PURGE] = PURGE_ADAPTIVE;
    clock_ms = real.now_ms();
}

/* Takes and frees 128 MiB `rounds` times. Returns how many MiB of free memory wait then. */
static size_t left_of_rounds(unsigned rounds, uint64_t apart_ms)
{
    enum { BLOCKS = 16, BYTES = 8 << 20 };
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            large[i] = keep(tslab_malloc(BYTES));
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            tslab_free(large[i]);
        }
        clock_ms += apart_ms;
    }
    return counter_get(&depot.units[RUN_DIRTY]) * UNIT_BYTES / MIB;
}

IN_A_CHILD_IF(!GUARDED, what_comes_often_waits)
{
    enum { OFTEN = 20, SELDOM = 3, ALL = 128, BOUND = 64 };
    begin_adaptive();
    const size_t once = left_of_rounds(1, 10), seldom = left_of_rounds(SELDOM - 1, 10);
    CHECK_SAY(once < 8 && seldom >= BOUND / 2 && seldom <= BOUND + 8, "%zu MiB, and %zu", once, seldom);
    const size_t often = left_of_rounds(OFTEN, 10);
    CHECK_SAY(often >= ALL - 8, "%zu MiB after %d rounds", often, OFTEN);
    clock_ms += (uint64_t)10 * DELAY_MS; /* what came before is forgotten */
    const size_t rare = left_of_rounds(OFTEN, DELAY_MS);
    CHECK_SAY(rare >= BOUND / 2 && rare <= BOUND + 8, "%zu MiB after %d rounds", rare, OFTEN);
}

/* A thread that goes on with blocks of its hot runs gives back the small objects of its bursts, too, and what it
 * purges. */
IN_A_CHILD_IF(!GUARDED, large_blocks_take_small_ones_away)
{
    enum { BURSTS = 4, BLOCKS = 64, SECONDS = 4, STEP_MS = 50, OBJECTS_EACH = 100000, MOST_KIB = 8 << 10 };
    static void *burst[OBJECTS_EACH];
    begin_adaptive();
    for (size_t i = 0; i < BURSTS; i++) {
        for (size_t k = 0; k < OBJECTS_EACH; k++) {
            burst[k] = memset(keep(tslab_malloc(16 + k % 496)), 1, 16);
        }
        for (size_t k = 0; k < OBJECTS_EACH; k++) {
            tslab_free(burst[k]);
        }
        clock_ms += STEP_MS;
    }
    const size_t before = resident_kib();
    for (size_t i = 0; i < SECONDS * 1000 / STEP_MS; i++) {
        for (size_t k = 0; k < BLOCKS; k++) {
            tslab_free(keep(tslab_malloc(500000)));
        }
        clock_ms += STEP_MS;
    }
    CHECK_SAY(before > 2 * MOST_KIB && resident_kib() < before - MOST_KIB - MOST_KIB / 2,
              "%zu KiB are resident, and were %zu", resident_kib(), before);
}

/* Large blocks of many lengths replace each other at random. The program takes again what was purged, so that as much
 * memory may wait, up to an eighth of what is in use. Then little is purged by mistake. After a pause no more waits. */
IN_A_CHILD_IF(!GUARDED, what_was_missed_waits)
{
    enum { BLOCKS = 30, LEAST = 262145, MOST = 2 << 20, ROUNDS = 5000, PER_MS = 10, STEP_UNITS = MIB / UNIT_BYTES };
    uint64_t seed = 1, bytes = 0;
    begin_adaptive();
    for (size_t i = 0; i < ROUNDS; i++) {
        void **const at = &large[random_next(&seed) % BLOCKS];
        const size_t n = LEAST + random_next(&seed) % (MOST - LEAST);
        tslab_free(*at);
        *at = keep(tslab_malloc(n));
        bytes += n;
        clock_ms += i % PER_MS == 0;
        const size_t used = counter_get(&depot.units[RUN_USED]), dirty = counter_get(&depot.units[RUN_DIRTY]);
        const size_t most = load_plain(&depot.use.below_peak) + used / 8;
        CHECK_SAY(dirty <= most + STEP_UNITS, "%zu units wait, not %zu at most", dirty, most);
    }
    struct total_figures stats;
    stats_totals(&stats);
    CHECK_SAY(stats.purge_mistakes <= bytes / 30, "of %zu MiB %zu were purged, and %zu of them missed",
              (size_t)bytes >> 20, stats.purged_bytes >> 20, stats.purge_mistakes >> 20);
    const size_t missed = load_plain(&depot.use.missed);
    CHECK(missed != 0);
    clock_ms += DELAY_MS;
    tslab_free(keep(tslab_malloc(MOST * 2)));
    const size_t faded = load_plain(&depot.use.missed);
    CHECK_SAY(faded <= missed / 2 + STEP_UNITS * 4, "of %zu units %zu count a delay later", missed, faded);
    clock_ms += (uint64_t)10 * DELAY_MS;
    tslab_free(keep(tslab_malloc(MOST * 2)));
    CHECK(load_plain(&depot.use.missed) == 0);
    clean_up();
}

/* Objects of up to 256 KiB replace each other at random. Classes do not keep for themselves what others could use. */
IN_A_CHILD_IF(!GUARDED, wide_slots_serve_each_other)
{
    enum { BLOCKS = 200, MOST = 256 << 10, ROUNDS = 20000, PER_MS = 100 };
    static void *blocks[BLOCKS];
    static size_t bytes[BLOCKS];
    uint64_t seed = 1;
    size_t live = 0, live_peak = 0, peak = 0;
    begin_adaptive();
    for (size_t i = 0; i < ROUNDS; i++) {
        const size_t at = random_next(&seed) % BLOCKS, n = 16 + random_next(&seed) % MOST;
        tslab_free(blocks[at]);
        blocks[at] = memset(keep(tslab_malloc(n)), 1, n);
        live += n - bytes[at];
        bytes[at] = n;
        clock_ms += i % PER_MS == 0;
        live_peak = max_size(live_peak, live);
        peak =
            max_size(peak, (counter_get(&depot.units[RUN_USED]) + counter_get(&depot.units[RUN_DIRTY])) * UNIT_BYTES);
    }
    CHECK_SAY(peak <= live_peak + live_peak * 3 / 4, "%zu MiB at the peak for %zu that lived", peak >> 20,
              live_peak >> 20);
    clean_up();
}

static const size_t alignments[] = { 16, 64 << 10, 2 << 20, 16 << 20 };

/* Freed aligned blocks leave holes of just their size: they serve the next ones. */
IN_CHILDREN_OF(replace_aligned, alignments, GUARDED ? 0 : COUNT_OF(alignments), sizeof alignments[0])
{
    static char *blocks[64];
    const size_t alignment = *(const size_t *)argument;
    const size_t bytes = alignment > 2 * MIB ? alignment : 2 * MIB;
    uint64_t seed = 1;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = tslab_aligned_alloc(alignment, bytes);
        CHECK(blocks[i] != NULL);
    }
    struct total_figures before, after;
    stats_totals(&before);
    for (size_t i = 0; i < 5000; i++) {
        const size_t at = random_next(&seed) % COUNT_OF(blocks);
        tslab_free(blocks[at]);
        blocks[at] = tslab_aligned_alloc(alignment, bytes);
        CHECK(blocks[at] != NULL && (uintptr_t)blocks[at] % alignment == 0);
    }
    stats_totals(&after);
    CHECK_SAY(after.committed_bytes <= before.committed_bytes + 8 * bytes, "%zu MiB became %zu",
              before.committed_bytes >> 20, after.committed_bytes >> 20);
}

/* Many runs lie badly for a large alignment. Where the search does not find the one that was added for it, it is not
 * added again. */
IN_A_CHILD_IF(!GUARDED, an_alignment_is_grown_for_once)
{
    enum { BLOCKS = 128, MAPPINGS = 1 + TABLES };
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = keep(tslab_malloc((i % 16 + 2) * 300000));
    }
    for (size_t i = 0; i < BLOCKS; i += 2) {
        tslab_free(blocks[i]);
    }
    (void)tslab_trim();
    inject_nothing();
    CHECK(keep(tslab_aligned_alloc(GIB, 300000)) != NULL);
    CHECK_SAY(atomic_load(&calls_made[PLACE]) <= MAPPINGS, "%u calls", atomic_load(&calls_made[PLACE]));
}

/* More runs than any operation under the depot's lock may look at, dirty, clean and swept: checked builds assert that
 * (depot.c). Guard pages end well before the mappings of the process do. */
IN_A_CHILD(many_runs_are_no_longer_way)
{
    enum { RUNS = 40000, BYTES = 33000 };
    static void *all[RUNS];
    option_values[OPTION_RETAIN_BYTES] = 64 * GIB;
    for (size_t i = 0; i < RUNS; i++) {
        all[i] = tslab_malloc(BYTES);
        CHECK_SAY(all[i] != NULL, "only %zu objects of %u bytes", i, BYTES);
    }
    for (size_t i = 0; i < RUNS; i += 2) {
        tslab_free(all[i]);
        all[i] = NULL;
    }
    for (size_t i = 0; i < 100; i++) {
        tslab_free(keep(tslab_malloc(5 * BYTES + i * UNIT_BYTES)));
        tslab_free(keep(tslab_aligned_alloc(1 << 20, BYTES)));
    }
    (void)tslab_trim();
    for (size_t i = 0; i < 100; i++) {
        tslab_free(keep(tslab_malloc(5 * BYTES + i * UNIT_BYTES)));
        tslab_free(keep(tslab_aligned_alloc(1 << 20, BYTES)));
    }
    (void)tslab_trim();
    for (size_t i = 0; i < RUNS; i++) {
        tslab_free(all[i]);
    }
    (void)tslab_trim();
}
