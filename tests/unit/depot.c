/* The depot against a simple model: an array that says of every unit who has it. */
#include "child.h"

#include "os/os.h"
#include "slab/hot_runs.h"
#include "space/huge_pages.h"
#include "verify.h"

#include <stdlib.h>

enum {
    ARENA_UNITS = 256, /* the smallest arena; unit 0 is nobody's */
    RUNS = ARENA_UNITS,
    ROUNDS = 8000,
};

/* The runs that the test has taken. */
static struct {
    uint32_t first, n;
} runs[RUNS];
static unsigned run_count;
static uint16_t owner[ARENA_UNITS]; /* 1 + the first unit of the run that a unit belongs to; 0: the depot's */

static uint64_t now_ms;
static uint64_t seed;

static uint64_t test_clock(void)
{
    return now_ms;
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(random_next(&seed) % limit);
}

/* The depot's laws hold, and each unit has the owner that the model says. `taken`: so many runs are used that the test
 * does not know. */
static void check_depot_with(size_t taken)
{
    size_t used = 0, short_units = 0;
    verify_depot();
    for (uint32_t at = 1; at < arena.committed_units; at += arena.runs[at].units) {
        const uint32_t n = arena.runs[at].units;
        const bool is_used = arena.runs[at].kind == RUN_USED;
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(owner[at + i], is_used && owner[at] != 0 ? at + 1 : 0);
        }
        used += is_used;
        short_units += is_used && n <= HUGE_RUN_UNITS ? n : 0;
    }
    assert_int_equal(used, run_count + taken);
    assert_int_equal(short_units, counter_get(&depot.short_units));
    assert_true(depot.aged.tail == 0 || arena.runs[depot.aged.tail].empty.dirty_since_ms <= now_ms);
}

static void check_depot(void)
{
    check_depot_with(0);
}

static void set_owner(uint32_t first, uint32_t n, uint16_t value)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_true(first + i >= 1 && first + i < ARENA_UNITS);
        assert_int_equal(owner[first + i] != 0, value == 0);
        owner[first + i] = value;
    }
}

static void scribble(uint32_t first, uint32_t n, bool clean)
{
    for (uint32_t i = first; i < first + n; i++) {
        assert_true(!clean || all_zero(arena_address(i), UNIT_BYTES));
        memset(arena_address(i), 0xa5, UNIT_BYTES);
    }
}

/* Whether n units from a multiple of align on are empty, for which the depot would have to be wrong to say no. It
 * always finds n + align - 1 units of one kind, so such runs count. */
static bool surely_fits(uint32_t n, uint32_t align)
{
    const uint32_t fit = n + align - 1;
    /* In the bin of the very length only some are looked at, so count those that every search must see. */
    for (uint32_t at = 1; at < arena.committed_units; at += arena.runs[at].units) {
        if (arena.runs[at].kind != RUN_USED && arena.runs[at].units >= fit + fit / 4 + 1) {
            return true;
        }
    }
    return false;
}

static bool take(uint32_t n, uint32_t align)
{
    bool clean;
    const bool fits = surely_fits(n, align);
    const uint32_t first = depot_take(n, align, &clean);
    assert_true(first != 0 || !fits);
    if (first == 0) {
        return false;
    }
    assert_int_equal((uintptr_t)arena_address(first) % ((uintptr_t)align << UNIT_SHIFT), 0);
    set_owner(first, n, (uint16_t)(first + 1));
    scribble(first, n, clean);
    runs[run_count].first = first;
    runs[run_count++].n = n;
    return true;
}

static void put(unsigned run, bool clean)
{
    const uint32_t first = runs[run].first, n = runs[run].n;
    if (clean) {
        assert_true(os_purge(arena_address(first), (size_t)n << UNIT_SHIFT));
    }
    set_owner(first, n, 0);
    runs[run] = runs[--run_count];
    depot_put(first, n, clean);
}

/* Whether the units behind a run, of empty runs in a row, decide that it can grow. */
static bool can_grow(uint32_t behind, uint32_t more)
{
    enum { ROW_RUNS = 8 };
    uint32_t units = 0;
    for (unsigned i = 0; i < ROW_RUNS && units < more && behind + units < arena.committed_units; i++) {
        const struct run *run = &arena.runs[behind + units];
        if (run->kind == RUN_USED) {
            return false;
        }
        units += run->units;
    }
    return units >= more;
}

static void grow(unsigned run, uint32_t more)
{
    const uint32_t first = runs[run].first, n = runs[run].n;
    const bool can = can_grow(first + n, more);
    bool clean = false;
    assert_int_equal(depot_grow(first, n, n + more, &clean), can);
    if (can) {
        set_owner(first + n, more, (uint16_t)(first + 1));
        scribble(first + n, more, clean);
        runs[run].n = n + more;
    }
}

static void trim(unsigned run)
{
    const uint32_t first = runs[run].first, n = runs[run].n;
    if (n > 1) {
        const uint32_t keep = 1 + below(n - 1);
        set_owner(first + keep, n - keep, 0);
        depot_trim(first, n, keep);
        runs[run].n = keep;
    }
}

/* A run that was taken to be purged is purged, or a part of it, or nothing came of it. */
static void put_taken(uint32_t first, uint32_t n)
{
    runs[--run_count].n = 0;
    set_owner(first, n, 0);
    if (below(8) == 0) {
        depot_put_unpurged(first, n);
        return;
    }
    const uint32_t refused = below(4) == 0 && n > 1 ? 1 + below(n - 1) : 0;
    if (refused != 0) {
        depot_split_taken(first, n, refused);
        depot_put_unpurged(first, refused);
    }
    assert_true(os_purge(arena_address(first + refused), (size_t)(n - refused) << UNIT_SHIFT));
    depot_put_purged(first + refused, n - refused);
}

/* The steps of a purger. */
static void purge_oldest(void)
{
    const uint64_t before_ms = now_ms - min_size(now_ms, below(200));
    const size_t dirty_limit = below(ARENA_UNITS);
    const uint32_t most = 1 + below(20);
    const uint32_t oldest = depot.aged.head;
    const bool due = oldest != 0 && (arena.runs[oldest].empty.dirty_since_ms < before_ms ||
                                     counter_get(&depot.units[RUN_DIRTY]) > dirty_limit);
    const uint32_t length = oldest == 0 ? 0 : arena.runs[oldest].units;
    uint32_t n = 0;
    const uint32_t first = depot_take_oldest(before_ms, dirty_limit, most, &n);
    assert_int_equal(first, due ? oldest : 0);
    if (due) {
        assert_int_equal(n, min_size(length, most));
        set_owner(first, n, (uint16_t)(first + 1));
        runs[run_count].first = first;
        runs[run_count++].n = n;
        check_depot(); /* the rest of the run is whole */
        put_taken(first, n);
    }
}

/* The treatment of long clean runs. */
static void sweep(void)
{
    uint32_t n;
    const uint32_t first = depot_take_with_tables(&n);
    if (first != 0) {
        check_depot_with(1);
        arena_purge_tables(first, n);
        depot_put_without_tables(first, n);
    }
}

static void step(void)
{
    now_ms += below(8) == 0 ? below(50) : 0;
    const uint32_t what = below(100);
    if (what < 45) {
        const uint32_t n = below(10) == 0 ? 1 + below(60) : 1 + below(8);
        (void)take(n, below(4) == 0 ? 1u << below(6) : 1);
    } else if (run_count == 0) {
        return;
    } else if (what < 75) {
        put(below(run_count), below(4) == 0);
    } else if (what < 83) {
        grow(below(run_count), 1 + below(6));
    } else if (what < 90) {
        trim(below(run_count));
    } else if (what < 97) {
        purge_oldest();
    } else {
        sweep();
    }
}

static void begin(void)
{
    os_calls.now_ms = test_clock;
    now_ms = 1000;
    arena = (struct arena){ .units = NULL };
    CHECK(arena_start((size_t)ARENA_UNITS * UNIT_BYTES));
    CHECK(arena.span_units == ARENA_UNITS);
    /* The first step has all of it. */
    bool clean;
    depot_put(depot_take(1, 1, &clean), 1, true);
    CHECK(arena.committed_units == ARENA_UNITS);
}

static void end(void)
{
    while (run_count > 0) {
        put(0, false);
        check_depot();
    }
    assert_int_equal(counter_get(&depot.units[RUN_USED]), 0);
}

static int start_arena(void **state)
{
    begin();
    return 0;
}

TEST(random_operations_keep_to_the_model)
{
    for (seed = 1; seed < 4; seed++) {
        const uint64_t this_seed = seed;
        seed = this_seed * 0x9e3779b97f4a7c15u;
        for (unsigned i = 0; i < ROUNDS; i++) {
            step();
            check_depot();
        }
        end();
        seed = this_seed;
    }
}

TEST(an_exhausted_arena_says_so_and_works_again)
{
    end();
    while (take(1, 1)) {
    }
    check_depot();
    assert_int_equal(run_count, ARENA_UNITS - 1);
    assert_int_equal(counter_get(&depot.units[RUN_USED]), ARENA_UNITS - 1);
    for (int i = 0; i < 10; i++) {
        assert_false(take(1, 1));
        assert_false(take(2, 1));
        assert_false(take(1, 32));
        check_depot();
        put(below(run_count), i % 2 == 0);
        check_depot();
        assert_true(take(1, 1));
        check_depot();
    }
    end();
    /* All came back as one run, and serves as one. */
    bool clean;
    while (depot.aged.head != 0) {
        uint32_t n;
        const uint32_t first = depot_take_oldest(UINT64_MAX, 0, ARENA_UNITS, &n);
        assert_true(os_purge(arena_address(first), (size_t)n << UNIT_SHIFT));
        depot_put_purged(first, n);
    }
    check_depot();
    assert_int_equal(counter_get(&depot.units[RUN_CLEAN]), ARENA_UNITS - 1);
    assert_int_equal(depot_take(ARENA_UNITS, 1, &clean), 0);
    assert_true(take(ARENA_UNITS - 1, 1));
    check_depot();
    end();
}

TEST(dirty_runs_serve_before_clean_ones_and_these_before_new_ones)
{
    end();
    assert_true(take(4, 1) && take(4, 1) && take(4, 1));
    const uint32_t first = runs[0].first, third = runs[2].first;
    put(2, true); /* with the clean rest behind it */
    put(0, false);
    assert_true(take(4, 1));
    assert_int_equal(runs[1].first, first);
    assert_true(take(4, 1));
    assert_true(runs[2].first >= third || runs[2].first < first);
    end();
}

/* The shortest run of a bin serves, not the one that came last. */
TEST(the_shortest_run_serves)
{
    enum { SHORTER = 35, BETWEEN = 64, LONGER = 39, WANTED = 33 };
    end();
    assert_int_equal(bin_of(WANTED), bin_of(LONGER));
    assert_true(take(SHORTER, 1) && take(BETWEEN, 1) && take(LONGER, 1));
    while (take(1, 1)) { /* nothing else is empty */
    }
    const uint32_t shorter = runs[0].first, longer = runs[2].first;
    assert_true(longer != shorter + SHORTER && shorter != longer + LONGER);
    put(0, false);
    put(2, false);
    const unsigned at = run_count;
    assert_true(take(WANTED, 1));
    assert_int_equal(runs[at].first, shorter);
    end();
}

/* A long run that no single empty run has comes out of a row, dirty or clean in front; so does one that grows. */
TEST(rows_serve_long_runs)
{
    enum { LONG = 24 };
    for (int clean_first = 0; clean_first <= 1; clean_first++) {
        end();
        for (unsigned i = 0; i < ARENA_UNITS / LONG; i++) {
            assert_true(take(LONG, 1));
        }
        while (take(1, 1)) { /* nothing else is empty */
        }
        const uint32_t first = runs[2].first;
        assert_int_equal(runs[3].first, first + LONG);
        put(3, clean_first == 0);
        put(2, clean_first != 0);
        check_depot();
        const unsigned at = run_count;
        bool clean = true;
        assert_int_equal(depot_take(2 * LONG + 1, 1, &clean), 0);
        assert_true(take(2 * LONG - 2, 1));
        assert_int_equal(runs[at].first, first);
        check_depot();
        put(at, clean_first == 0);
        /* And the same in place: `before` is in front of the row. */
        for (unsigned i = 0; i < run_count; i++) {
            if (runs[i].first + runs[i].n == first) {
                grow(i, 2 * LONG);
                assert_int_equal(runs[i].n, 3 * LONG);
                break;
            }
        }
        check_depot();
    }
    end();
}

/* More units than any arena has: the bins end before them. */
TEST(no_length_is_too_long_to_ask_for)
{
    end();
    for (unsigned shift = 8; shift < 32; shift++) {
        bool clean;
        const uint32_t n = (uint32_t)1 << shift;
        assert_int_equal(depot_take(n, 1, &clean), 0);
        assert_int_equal(depot_take(n + n / 2, 1, &clean), 0);
        assert_int_equal(depot_take(n + n / 2 + n / 4, 1, &clean), 0);
        assert_int_equal(depot_take(1, n, &clean), 0);
        check_depot();
    }
    assert_int_equal(depot_take(UINT32_MAX, 1, &(bool){ false }), 0);
    assert_true(take(1, 1));
    end();
}

/* The large runs that a thread keeps: the one that fits best, no more than so many units and so many runs. */

static uint32_t hot_take(struct hot_runs *hot, uint32_t n, uint32_t expected)
{
    const uint32_t first = hot_runs_take(hot, &n, UNIT_BYTES);
    assert_int_equal(n, expected);
    return first;
}

TEST(hot_runs_serve_again)
{
    struct hot_runs hot = { .next = 0 };
    assert_int_equal(hot_take(&hot, 3, 3), 0);
    assert_true(hot_runs_put(&hot, 10, 3, HOT_UNITS) && hot_runs_put(&hot, 20, 3, HOT_UNITS));
    assert_true(hot_runs_put(&hot, 30, 5, HOT_UNITS) && hot_runs_put(&hot, 40, 4, HOT_UNITS));
    assert_int_equal(hot_take(&hot, 6, 6), 0);
    assert_int_equal(hot_take(&hot, 2, 2), 0);  /* all are longer by more than a part */
    assert_int_equal(hot_take(&hot, 4, 4), 40); /* as long, though the other one was first */
    assert_int_equal(hot_take(&hot, 4, 5), 30);
    assert_int_equal(hot_take(&hot, 3, 3) + hot_take(&hot, 3, 3), 30);
    assert_int_equal(hot_take(&hot, 3, 3), 0);
    assert_int_equal(hot_take(&hot, 0, 0), 0);
    assert_int_equal(hot_runs_units(&hot), 0);

    assert_false(hot_runs_put(&hot, 10, HOT_RUN_UNITS + 1, HOT_UNITS));
    for (uint32_t i = 0; i < HOT_UNITS / HOT_RUN_UNITS; i++) {
        assert_true(hot_runs_put(&hot, 100 + i, HOT_RUN_UNITS, HOT_UNITS));
    }
    assert_int_equal(hot_runs_units(&hot), HOT_UNITS);
    assert_false(hot_runs_put(&hot, 10, 1, HOT_UNITS));
    for (uint32_t i = 0; i < HOT_UNITS / HOT_RUN_UNITS; i++) {
        assert_int_not_equal(hot_take(&hot, HOT_RUN_UNITS, HOT_RUN_UNITS), 0);
    }

    for (uint32_t i = 0; i < HOT_RUNS; i++) {
        assert_true(hot_runs_put(&hot, 100 + i, 3, HOT_UNITS));
    }
    assert_false(hot_runs_put(&hot, 10, 3, HOT_UNITS));
    for (uint32_t i = 0; i < HOT_RUNS; i++) {
        assert_int_not_equal(hot_take(&hot, 3, 3), 0);
    }
    assert_int_equal(hot_runs_units(&hot), 0);
}

/* A run of n units, without a tag, in the hot runs. */
static void hot_from_depot(struct hot_runs *hot, uint32_t n, uint32_t most)
{
    bool clean;
    const uint32_t first = depot_take(n, 1, &clean);
    assert_true(first != 0 && hot_runs_put(hot, first, n, most));
}

/* The older ones make room, and a look takes those that came before the last one. */
TEST(hot_runs_do_not_stay)
{
    struct hot_runs hot = { .next = 5 };
    for (uint32_t i = 0; i < HOT_RUNS; i++) {
        hot_from_depot(&hot, 1 + i, HOT_UNITS);
    }
    const uint32_t all = hot_runs_units(&hot);
    hot_runs_make_room(&hot, 1, HOT_UNITS);
    assert_int_equal(hot_take(&hot, 7, 7), 0);
    assert_true(hot_runs_units(&hot) > all / 2 && hot_runs_units(&hot) < all);
    hot_runs_make_room(&hot, 30, 60);
    assert_true(hot_runs_units(&hot) <= 30);
    hot_runs_flush_idle(&hot);
    const uint32_t seen = hot_runs_units(&hot);
    assert_true(seen != 0);
    hot_from_depot(&hot, 20, HOT_UNITS);
    hot_runs_flush_idle(&hot);
    assert_int_equal(hot_runs_units(&hot), 20);
    hot_from_depot(&hot, 1, HOT_UNITS);
    hot_runs_flush_idle(&hot);
    assert_int_equal(hot_runs_units(&hot), 1);
    hot_runs_flush(&hot);
    assert_int_equal(hot_runs_units(&hot), 0);
    end();
}

int main(void)
{
    (void)start_arena(NULL);
    return tests_run();
}
