/* Blocks outside the arena: their table, and large objects when the arena is small. */
#include "child.h"
#include "engine.h"

#include "core/blocks.h"
#include "os/os.h"

#include <errno.h>
#include <tslab/tslab.h>

enum { BLOCKS = 3000, ROUNDS = 12000 };

static struct {
    char *start;
    size_t bytes;
} blocks[BLOCKS];
static size_t bytes_mapped;

static void map_one(size_t i, uint64_t *random)
{
    const size_t alignment = random_next(random) % 16 == 0 ? (size_t)1 << (random_next(random) % 22) : 1;
    const size_t bytes = 1 + random_next(random) % (random_next(random) % 64 == 0 ? 100000 : 8192);
    blocks[i].start = blocks_map(bytes, alignment);
    assert_non_null(blocks[i].start);
    assert_int_equal((uintptr_t)blocks[i].start % alignment, 0);
    blocks[i].bytes = blocks_usable(blocks[i].start);
    assert_true(blocks[i].bytes >= bytes && blocks[i].bytes < bytes + os_page_bytes());
    assert_true(all_zero(blocks[i].start, blocks[i].bytes));
    pattern_fill(blocks[i].start, 64 < bytes ? 64 : bytes, i);
    blocks[i].start[blocks[i].bytes - 1] = 1; /* to the last byte it may be written */
    bytes_mapped += blocks[i].bytes;
}

static void unmap_one(size_t i)
{
    assert_true(pattern_holds(blocks[i].start, 1, i));
    assert_true(blocks_unmap(blocks[i].start));
    assert_int_equal(blocks_usable(blocks[i].start), 0);
    assert_false(blocks_unmap(blocks[i].start));
    bytes_mapped -= blocks[i].bytes;
    blocks[i].start = NULL;
}

static void check_all(void)
{
    assert_int_equal(blocks_bytes(), bytes_mapped);
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].start != NULL) {
            assert_int_equal(blocks_usable(blocks[i].start), blocks[i].bytes);
            assert_int_equal(blocks_usable(blocks[i].start + 1), 0);
            assert_int_equal(
                blocks_usable(blocks[i].start + os_page_bytes()) == 0 || blocks[i].bytes == os_page_bytes(), true);
        }
    }
}

static void the_table_finds_what_is_in_it_and_nothing_else(void **state)
{
    (void)state;
    uint64_t random = 11;
    assert_int_equal(blocks_usable(&random), 0);
    assert_false(blocks_unmap(&random));
    for (size_t round = 0; round < ROUNDS; round++) {
        const size_t i = random_next(&random) % BLOCKS;
        if (blocks[i].start == NULL) {
            map_one(i, &random);
        } else if (random_next(&random) % 3 == 0) { /* so that the table fills up */
            unmap_one(i);
        }
        if (round % 2000 == 0) {
            check_all();
        }
    }
    check_all();
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].start != NULL) {
            unmap_one(i);
        }
    }
    assert_int_equal(blocks_bytes(), 0);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_null(blocks_map(SIZE_MAX, 1));
    assert_null(blocks_map(SIZE_MAX - os_page_bytes(), 1));
    assert_null(blocks_map(1, (size_t)1 << 62));
    assert_null(blocks_map((size_t)1 << 62, (size_t)1 << 63));
    assert_null(blocks_map((size_t)1 << 50, 1));
    assert_int_equal(blocks_bytes(), 0);
}

static bool is_outside(const void *p)
{
    return !arena_has_unit(arena_unit(p));
}

enum { LARGE = 300, LARGE_BYTES = 64 * 1024 };

static void fill_a_small_arena(const void *argument)
{
    (void)argument;
    static char *large[LARGE];
    live_in_arena_of(4 * MIB);
    size_t outside = 0;
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = tslab_calloc(1, LARGE_BYTES + i);
        CHECK(large[i] != NULL && tslab_usable_size(large[i]) >= LARGE_BYTES + i);
        CHECK(all_zero(large[i], LARGE_BYTES + i));
        pattern_fill(large[i], LARGE_BYTES + i, i);
        outside += is_outside(large[i]);
    }
    /* The arena holds at most 64 of these, and what it can it holds. */
    CHECK_SAY(outside >= LARGE - 64 && outside <= LARGE - 50, "%zu are outside", outside);
    /* Realloc grows and shrinks outside, too, and moves between the two. */
    for (size_t i = 0; i < LARGE; i++) {
        const size_t size = i % 3 == 0 ? 100 : i % 3 == 1 ? 3 * LARGE_BYTES : LARGE_BYTES / 2 + i;
        char *const moved = tslab_realloc(large[i], size);
        if (moved == NULL) {
            CHECK(size <= SMALL_MAX); /* only small objects need the arena */
        } else {
            large[i] = moved;
            CHECK(tslab_usable_size(moved) >= size);
        }
        CHECK(pattern_holds(large[i], size < LARGE_BYTES ? size : LARGE_BYTES, i));
        struct tslab_stats stats;
        tslab_stats_get(&stats);
        CHECK(stats.large_bytes >= blocks_bytes());
    }
    for (size_t i = 0; i < LARGE; i++) {
        tslab_free(large[i]);
    }
    CHECK(blocks_bytes() == 0);
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.large_bytes == 0 && stats.live_objects == 0 && stats.slab_bytes == 0 && stats.dirty_bytes == 0);
    CHECK(stats.committed_bytes <= 4 * MIB);
}

static void large_objects_live_outside_when_the_arena_is_full(void **state)
{
    (void)state;
    child_succeeds(fill_a_small_arena, NULL, "");
}

static void fill_with_small_objects(const void *argument)
{
    const size_t size = *(const size_t *)argument;
    live_in_arena_of(4 * MIB);
    for (int round = 0; round < 3; round++) {
        void *first = NULL;
        size_t count = 0;
        for (void **p; (p = tslab_malloc(size)) != NULL; first = p, count++) {
            *p = first;
        }
        CHECK(errno == ENOMEM);
        /* The whole arena is in use: but for unit 0, and less than two slabs. */
        CHECK_SAY(count * size >= 4 * MIB * 9 / 10, "no memory after %zu objects of %zu bytes", count, size);
        for (void *p = first; p != NULL;) {
            void *const next = *(void **)p;
            tslab_free(p);
            p = next;
        }
        if (round == 1) {
            (void)tslab_trim();
        }
    }
}

static void small_objects_fill_the_arena_and_fill_it_again(void **state)
{
    (void)state;
    static const size_t sizes[] = { 16, 80, 1024, 4096, 7168, 16384, 32768 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        child_succeeds(fill_with_small_objects, &sizes[i], "");
    }
}

/* Every second unit dirty, its neighbours clean: there is room for a slab of two units, but not in one piece. */
static void need_a_merge(const void *argument)
{
    (void)argument;
    live_in_arena_of(4 * MIB);
    option_values[OPTION_PURGE_DELAY_MS] = 3600 * 1000;
    option_values[OPTION_RETAIN_BYTES] = TIB;
    enum { UNITS = 1024 };
    static void *units[UNITS];
    /* Large objects of one unit cannot be had, for they would be small; so of three. */
    size_t n = 0;
    while (n < UNITS && !is_outside(units[n] = tslab_malloc(3 * UNIT_BYTES))) {
        n++;
    }
    tslab_free(units[n]);
    CHECK(n > 80);
    for (size_t i = 0; i < n; i += 2) {
        tslab_free(units[i]);
    }
    (void)tslab_trim(); /* these are clean now */
    for (size_t i = 1; i < n; i += 2) {
        tslab_free(units[i]); /* and these dirty: three units each */
    }
    /* Four units in one piece are wanted, twenty times. */
    static void *small[20];
    for (int i = 0; i < 20; i++) {
        small[i] = tslab_malloc(8192);
        CHECK_SAY(small[i] != NULL, "no memory for object %d, though nearly all is free", i);
        for (int k = 0; k < 7; k++) {
            CHECK(tslab_malloc(8192) != NULL); /* the rest of the slab */
        }
    }
}

static void dirty_and_clean_neighbours_serve_together(void **state)
{
    (void)state;
    child_succeeds(need_a_merge, NULL, "");
}

/* Sizes between what a run can be and what an address can be. */
static void ask_for_too_much(const void *argument)
{
    (void)argument;
    /* A history, so that what the depot counts is more than what the arena has. */
    for (int i = 0; i < 200; i++) {
        tslab_free(keep(tslab_malloc(MIB)));
        (void)tslab_trim();
    }
    void *const kept = tslab_malloc(100000);
    for (unsigned shift = 40; shift < 64; shift++) {
        const size_t size = (size_t)1 << shift;
        for (size_t quarter = 0; quarter < 4; quarter++) {
            errno = 0;
            void *const p = tslab_malloc(unseen(size + size / 4 * quarter));
            CHECK(p != NULL || errno == ENOMEM);
            tslab_free(p);
        }
        CHECK(shift < 48 || tslab_realloc(kept, unseen(size)) == NULL);
    }
    for (unsigned shift = 20; shift < 64; shift++) {
        tslab_free(tslab_aligned_alloc(unseen((size_t)1 << shift), 100));
        tslab_free(tslab_aligned_alloc(unseen((size_t)1 << shift), 100000));
    }
    tslab_free(kept);
}

static void no_size_is_too_much_to_ask_for(void **state)
{
    (void)state;
    child_succeeds(ask_for_too_much, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_objects_live_outside_when_the_arena_is_full),
        cmocka_unit_test(small_objects_fill_the_arena_and_fill_it_again),
        cmocka_unit_test(dirty_and_clean_neighbours_serve_together),
        cmocka_unit_test(no_size_is_too_much_to_ask_for),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(the_table_finds_what_is_in_it_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
