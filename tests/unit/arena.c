/* Addresses: the arena begins where nobody is, grows where nobody is, and what somebody else has there stays his. */
#include "child.h"
#include "engine.h"
#include "faults.h"

#include "malloc/current_thread.h"
#include "report/statistics.h"
#include "space/trap.h"

#include <sys/mman.h>
#include <sys/personality.h>
#include <tslab/tslab.h>

enum { PIECES = 400, PIECE_BYTES = 300000 };

static char *pieces[PIECES];

static void fill_pieces(void)
{
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = tslab_malloc(PIECE_BYTES);
        CHECK(pieces[i] != NULL);
        pattern_fill(pieces[i], PIECE_BYTES, i);
    }
}

static void free_pieces(void)
{
    for (size_t i = 0; i < PIECES; i++) {
        CHECK(pattern_holds(pieces[i], PIECE_BYTES, i));
        tslab_free(pieces[i]);
    }
}

/* The memory mapped at an address is another owner's, and remembers writes. */
static char *neighbour_moves_in(void *start, size_t bytes)
{
    char *const p = mmap(start, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    CHECK_SAY(p == start, "nobody can move in at %p: %s", start, strerror(errno));
    pattern_fill(p, 4096, 1);
    pattern_fill(p + bytes - 4096, 4096, 2);
    return p;
}

static void check_neighbour(const char *p, size_t bytes)
{
    CHECK(pattern_holds(p, 4096, 1) && pattern_holds(p + bytes - 4096, 4096, 2));
}

/* All that is empty is so in the depot, and what is not in the arena is nowhere in it. */
static void check_empty(void)
{
    (void)tslab_trim();
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.live_objects == 0 && stats.large_bytes == 0 && stats.dirty_bytes == 0);
    CHECK(stats.clean_bytes + counter_get(&trap_units) * UNIT_BYTES == stats.committed_bytes);
}

static const struct neighbour {
    size_t behind; /* so many bytes behind the end of the arena */
    size_t bytes;
} neighbours[] = {
    { 0, UNIT_BYTES }, { 0, 64 * MIB },   { 5 * MIB + UNIT_BYTES, 16 * UNIT_BYTES }, { 100 * MIB, 2 * UNIT_BYTES },
    { 0, TIB },        { GIB, 200 * MIB }
};

static void grow_around(const void *argument)
{
    const struct neighbour *const n = argument;
    tslab_free(keep(tslab_malloc(1)));
    const size_t end = arena.committed_units;
    char *const start = arena_address((uint32_t)end) + n->behind;
    (void)neighbour_moves_in(start, n->bytes);
    for (int round = 0; round < 3; round++) {
        fill_pieces();
        for (size_t i = 0; i < PIECES; i++) {
            CHECK(pieces[i] + PIECE_BYTES <= start || pieces[i] >= start + n->bytes);
        }
        char *const large = keep(tslab_malloc(256 * MIB));
        CHECK(large + 256 * MIB <= start || large >= start + n->bytes);
        tslab_free(large);
        char *const aligned = tslab_aligned_alloc(8 * MIB, 8 * MIB);
        CHECK((uintptr_t)aligned % (8 * MIB) == 0 && (aligned + 8 * MIB <= start || aligned >= start + n->bytes));
        tslab_free(aligned);
        check_neighbour(start, n->bytes);
        free_pieces();
        check_empty();
    }
    check_neighbour(start, n->bytes);
    /* Nothing there is an object of ours, to any who ask. */
    if (arena_has_unit(arena_unit(start))) {
        CHECK(load_plain(&arena.units[arena_unit(start)].tag) == TAG_NONE);
        CHECK(tslab_epoch_of(start).id == 0);
        const tslab_epoch epoch = tslab_epoch_open(NULL);
        const tslab_handle made_up = { (uint64_t)arena_unit(start) << 34 };
        CHECK(tslab_handle_get(epoch, made_up) == NULL && tslab_handle_free(epoch, made_up) == TSLAB_STALE);
        (void)tslab_epoch_close(epoch, 0, NULL);
    }
}

TEST(a_neighbour_in_the_way_is_a_gap)
{
    for (size_t i = 0; i < COUNT_OF(neighbours); i++) {
        if (neighbours[i].bytes < os_address_space() / 64) { /* of an emulator's there is less */
            child_succeeds(grow_around, &neighbours[i], "");
        }
    }
}

/* A table of the arena's is in the way of its growth when somebody is where it would grow. */
static void grow_without_a_table(const void *argument)
{
    const size_t table = *(const size_t *)argument;
    tslab_free(keep(tslab_malloc(1)));
    const uintptr_t starts[] = { (uintptr_t)arena.runs, (uintptr_t)arena.revisits, (uintptr_t)arena.codes };
    const size_t sizes[] = { sizeof *arena.runs, sizeof *arena.revisits, UNIT_BYTES / GRANULE_BYTES };
    const size_t page = os_page_bytes();
    char *const next = (char *)round_up(starts[table] + arena.committed_units * sizes[table], page) + page;
    (void)neighbour_moves_in(next, 4 * page);
    fill_pieces();
    check_neighbour(next, 4 * page);
    free_pieces();
    check_neighbour(next, 4 * page);
    check_empty();
}

TEST(a_neighbour_among_the_tables_is_one_too)
{
    for (size_t table = 0; table < 3; table++) {
        child_succeeds(grow_without_a_table, &table, "");
    }
}

/* Where an arena begins cannot be foreseen, unless the process asks for that. */
static uintptr_t base_of_a_child(bool repeats)
{
    int ends[2];
    uintptr_t base = 0;
    CHECK(pipe(ends) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        if (repeats) {
            CHECK(personality(ADDR_NO_RANDOMIZE) != -1);
        }
        CHECK(arena_start(TIB));
        CHECK(write(ends[1], &arena.base, sizeof arena.base) == sizeof arena.base);
        _exit(0);
    }
    CHECK(read(ends[0], &base, sizeof base) == sizeof base);
    child_ends_well(pid);
    close(ends[0]);
    close(ends[1]);
    return base;
}

TEST(the_place_is_random)
{
    const uintptr_t first = base_of_a_child(false), second = base_of_a_child(false);
    const bool emulated = os_address_space() / 8 > first; /* another system's addresses */
    assert_true(emulated || first != second);
    assert_int_equal(base_of_a_child(true), base_of_a_child(true));
}

/* Nothing is mapped that is not used: a step, and the tables about it. */
IN_A_CHILD(what_is_mapped_is_in_use)
{
    const size_t before = mapped_kib();
    tslab_free(keep(tslab_malloc(100)));
    CHECK_SAY(mapped_kib() < before + 8 * 1024, "the first object maps %zu KiB", mapped_kib() - before);
    (void)keep(tslab_malloc(GIB));
    CHECK(mapped_kib() < before + GIB / 1024 * 9 / 8);
}
