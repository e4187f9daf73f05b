/* realloc of large blocks: fresh memory takes over the pages, memory that has pages gets a copy, and a system that
 * refuses is asked once. */
#include "child.h"
#include "engine.h"
#include "faults.h"

#include <sys/mman.h>
#include <tslab/tslab.h>

static unsigned moves;

static enum os_moved count_moves(void *from, void *to, size_t bytes)
{
    moves++;
    return real.move(from, to, bytes);
}

static enum os_moved refuse(void *from, void *to, size_t bytes)
{
    (void)from;
    (void)to;
    (void)bytes;
    moves++;
    return OS_NOT_MOVED;
}

/* What a kernel without memory may leave, when somebody else maps the target meanwhile. */
static enum os_moved lose(void *from, void *to, size_t bytes)
{
    (void)from;
    moves++;
    CHECK(mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == to);
    memset(to, 0x55, bytes);
    return OS_TARGET_LOST;
}

static void begin(enum os_moved (*move)(void *from, void *to, size_t bytes))
{
    inject_nothing();
    os_calls.move = move;
}

/* A block that cannot grow where it is. */
static unsigned char *block_of(size_t bytes, unsigned seed)
{
    unsigned char *const block = keep(tslab_malloc(bytes));
    (void)keep(tslab_malloc(MIB)); /* behind it */
    pattern_fill(block, bytes, seed);
    return block;
}

static void pages_go_into_fresh_memory(const void *argument)
{
    (void)argument;
    begin(count_moves);
    unsigned char *const block = block_of(8 * MIB, 1);
    const size_t resident = os_resident_bytes();
    unsigned char *const longer = keep(tslab_realloc(block, 32 * MIB));
    CHECK(moves == 1 && longer != block);
    CHECK(os_resident_bytes() < resident + MIB);
    CHECK(pattern_holds(longer, 8 * MIB, 1));
    /* What was left is memory like any other, and it is zero. */
    unsigned char *const again = keep(tslab_calloc(1, 8 * MIB));
    CHECK(again == block && all_zero(again, 8 * MIB));
    memset(again, 1, 8 * MIB);
    tslab_free(again);
    tslab_free(longer);
    (void)tslab_trim();
}

static void memory_with_pages_gets_a_copy(const void *argument)
{
    (void)argument;
    begin(count_moves);
    option_values[OPTION_RETAIN_BYTES] = GIB;
    unsigned char *const room = block_of(32 * MIB, 2);
    unsigned char *const block = block_of(7 * MIB, 1);
    tslab_free(room);
    unsigned char *const longer = keep(tslab_realloc(block, 32 * MIB));
    CHECK(moves == 0 && longer == room);
    CHECK(pattern_holds(longer, 7 * MIB, 1));
}

/* A copy of a long block takes longer than the faults that it saves. */
static void long_blocks_go_to_fresh_memory(const void *argument)
{
    (void)argument;
    begin(count_moves);
    option_values[OPTION_RETAIN_BYTES] = GIB;
    unsigned char *const room = block_of(64 * MIB, 2);
    unsigned char *const block = block_of(16 * MIB, 1);
    tslab_free(room);
    unsigned char *const longer = keep(tslab_realloc(block, 32 * MIB));
    CHECK(moves == 1 && (longer + 32 * MIB <= room || longer >= room + 64 * MIB));
    CHECK(pattern_holds(longer, 16 * MIB, 1));
    /* At a limit it makes do with what there is. */
    CHECK(tslab_limits_set(&(struct tslab_limits){ .hard_bytes = tslab_limits_get(NULL) + MIB }) == TSLAB_OK);
    unsigned char *const longest = keep(tslab_realloc(longer, 48 * MIB));
    CHECK(moves == 1 && longest == room && pattern_holds(longest, 16 * MIB, 1));
}

static void short_blocks_are_copied(const void *argument)
{
    (void)argument;
    begin(count_moves);
    unsigned char *const block = block_of(MIB / 4, 1);
    CHECK(pattern_holds(keep(tslab_realloc(block, 4 * MIB)), MIB / 4, 1) && moves == 0);
}

static void a_refusal_is_the_last(const void *argument)
{
    (void)argument;
    begin(refuse);
    for (unsigned i = 0; i < 3; i++) {
        unsigned char *const block = block_of(4 * MIB, i);
        CHECK(pattern_holds(keep(tslab_realloc(block, 16 * MIB)), 4 * MIB, i) && moves == 1);
    }
}

static void a_lost_target_is_a_gap(const void *argument)
{
    (void)argument;
    begin(lose);
    unsigned char *const block = block_of(4 * MIB, 1);
    CHECK(pattern_holds(keep(tslab_realloc(block, 16 * MIB)), 4 * MIB, 1) && moves == 1);
    CHECK(counter_get(&depot.lost_units) == 16 * MIB / UNIT_BYTES);
    for (unsigned i = 0; i < 8; i++) {
        unsigned char *const other = keep(tslab_calloc(1, 8 * MIB));
        CHECK(all_zero(other, 8 * MIB));
    }
}

/* The kernel joins mappings whose pages were moved with no other, so their number is bounded. */
static void mappings_stay_few(const void *argument)
{
    enum { BLOCKS = 64, ROUNDS = 50 };
    (void)argument;
    unsigned char *blocks[BLOCKS] = { NULL };
    size_t bytes[BLOCKS];
    for (unsigned i = 0; i < BLOCKS * ROUNDS; i++) {
        const unsigned b = i * 7 % BLOCKS;
        bytes[b] = blocks[b] == NULL || bytes[b] > 16 * MIB ? MIB / 2 + (size_t)b * UNIT_BYTES : bytes[b] * 3 / 2;
        blocks[b] = keep(tslab_realloc(blocks[b], bytes[b]));
        blocks[b][bytes[b] - 1] = 1;
    }
    CHECK_SAY(count_mappings() < 4000, "%zu mappings", count_mappings());
}

static void large_blocks_move(void **state)
{
    (void)state;
    if (GUARDED) {
        return; /* guard pages do not move */
    }
    child_succeeds(pages_go_into_fresh_memory, NULL, "");
    child_succeeds(memory_with_pages_gets_a_copy, NULL, "");
    child_succeeds(long_blocks_go_to_fresh_memory, NULL, "");
    child_succeeds(short_blocks_are_copied, NULL, "");
    child_succeeds(a_refusal_is_the_last, NULL, "");
    child_succeeds(a_lost_target_is_a_gap, NULL, "");
    child_succeeds(mappings_stay_few, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(large_blocks_move) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
