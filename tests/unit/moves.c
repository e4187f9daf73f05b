/* realloc of large blocks: fresh memory takes over the pages with what the program has set for them, memory that has
 * pages gets a copy, and so does a block that the system does not move. Where a block stays, the cost is that of what
 * is new. */
#include "child.h"
#include "engine.h"
#include "faults.h"

#include "space/pages.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <tslab/tslab.h>

static unsigned moves;

static enum os_moved count_moves(void *from, size_t bytes, void *to, size_t longer)
{
    const enum os_moved moved = real.move(from, bytes, to, longer);
    moves += moved == OS_MOVED;
    return moved;
}

static enum os_moved refuse(void *from, size_t bytes, void *to, size_t longer)
{
    moves++;
    return OS_NOT_MOVED;
}

/* The state that a kernel without memory may leave when another thread maps the target meanwhile. */
static enum os_moved lose(void *from, size_t bytes, void *to, size_t longer)
{
    moves++;
    CHECK(mmap(to, longer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == to);
    memset(to, 0x55, longer);
    return OS_TARGET_LOST;
}

static enum os_placed place_nothing(void *start, size_t bytes, enum os_access access)
{
    return OS_NO_MEMORY;
}

/* From then on no memory is mapped, not at the place that a block left either. */
static enum os_moved move_then_map_nothing(void *from, size_t bytes, void *to, size_t longer)
{
    os_calls.place = place_nothing;
    return count_moves(from, bytes, to, longer);
}

static void begin(enum os_moved (*move)(void *from, size_t bytes, void *to, size_t longer))
{
    inject_nothing();
    os_calls.move = move;
}

/* A block that cannot grow where it is. */
static unsigned char *block_of(size_t bytes, unsigned seed)
{
    unsigned char *const longer = keep(tslab_malloc(bytes + MIB)), *const block = keep(tslab_realloc(longer, bytes));
    CHECK(block == longer && keep(tslab_malloc(MIB)) == block + bytes);
    pattern_fill(block, bytes, seed);
    return block;
}

/* Allocates until the memory is handed out again that a block left. */
static unsigned char *come_back_to(const unsigned char *left, size_t bytes)
{
    unsigned char *again;
    do {
        again = keep(tslab_calloc(1, bytes));
    } while (again != left);
    return again;
}

static void pages_go_into_fresh_memory(const void *argument)
{
    begin(count_moves);
    unsigned char *const block = block_of(8 * MIB, 1);
    const size_t resident = os_resident_bytes();
    unsigned char *const longer = keep(tslab_realloc(block, 32 * MIB));
    CHECK(moves == 1 && longer != block);
    CHECK(os_resident_bytes() < resident + MIB);
    CHECK(pattern_holds(longer, 8 * MIB, 1));
    /* The rest is memory like any other, and it is zero. */
    unsigned char *const again = come_back_to(block, 8 * MIB);
    CHECK(all_zero(again, 8 * MIB));
    memset(again, 1, 8 * MIB);
    tslab_free(again);
    tslab_free(longer);
    (void)tslab_trim();
}

/* A block that was moved is one mapping, so it moves again, on any kernel. */
static void blocks_move_again_and_again(const void *argument)
{
    begin(count_moves);
    unsigned char *blocks[] = { block_of(MIB, 1), block_of(MIB, 2) };
    for (size_t bytes = 2 * MIB; bytes <= 64 * MIB; bytes *= 2) {
        for (unsigned i = 0; i < 2; i++) {
            blocks[i] = keep(tslab_realloc(blocks[i], bytes));
            CHECK(pattern_holds(blocks[i], MIB, i + 1));
        }
    }
    CHECK_SAY(moves >= 8, "%u of 12 moves", moves);
}

static void memory_with_pages_gets_a_copy(const void *argument)
{
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
    begin(count_moves);
    unsigned char *const block = keep(tslab_malloc(MIB / 4));
    pattern_fill(block, MIB / 4, 1);
    CHECK(pattern_holds(keep(tslab_realloc(block, 4 * MIB)), MIB / 4, 1) && moves == 0);
}

static void a_refusal_is_one_copy(const void *argument)
{
    begin(refuse);
    for (unsigned i = 0; i < 3; i++) {
        unsigned char *const block = block_of(16 * MIB, i);
        CHECK(pattern_holds(keep(tslab_realloc(block, 64 * MIB)), 16 * MIB, i) && moves == i + 1);
    }
    moves = 0;
    begin(count_moves);
    CHECK(pattern_holds(keep(tslab_realloc(block_of(16 * MIB, 3), 64 * MIB)), 16 * MIB, 3) && moves == 1);
}

/* Settings of pages that a program can make, and take back. A kernel may lack any of them. */

enum { PR_NAME = 0x53564d41, PR_NAME_ANONYMOUS = 0, LOCK_WHEN_TOUCHED = 1, BIND_PREFERRED = 1, POLICY_OF_ADDRESS = 2 };

static bool wipe_on_fork(void *p, size_t bytes, bool on)
{
    return madvise(p, bytes, on ? MADV_WIPEONFORK : MADV_KEEPONFORK) == 0;
}

static bool leave_out_of_fork(void *p, size_t bytes, bool on)
{
    return madvise(p, bytes, on ? MADV_DONTFORK : MADV_DOFORK) == 0;
}

static bool leave_out_of_dumps(void *p, size_t bytes, bool on)
{
    return madvise(p, bytes, on ? MADV_DONTDUMP : MADV_DODUMP) == 0;
}

static bool merge(void *p, size_t bytes, bool on)
{
    return madvise(p, bytes, on ? MADV_MERGEABLE : MADV_UNMERGEABLE) == 0;
}

static bool ask_for_huge(void *p, size_t bytes, bool on)
{
    return madvise(p, bytes, on ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
}

static bool lock_in_memory(void *p, size_t bytes, bool on)
{
    return (on ? syscall(SYS_mlock2, p, bytes, LOCK_WHEN_TOUCHED) : syscall(SYS_munlock, p, bytes)) == 0;
}

static bool name(void *p, size_t bytes, bool on)
{
    return prctl(PR_NAME, PR_NAME_ANONYMOUS, p, bytes, on ? "mark" : NULL) == 0;
}

static bool protect_by_key(void *p, size_t bytes, bool on)
{
    static int key = -1;
    key = key >= 0 ? key : pkey_alloc(0, 0);
    return key >= 0 && pkey_mprotect(p, bytes, PROT_READ | PROT_WRITE, on ? key : 0) == 0;
}

static bool bind_to_node(void *p, size_t bytes, bool on)
{
    const unsigned long node = 1;
    return syscall(SYS_mbind, p, bytes, on ? BIND_PREFERRED : 0, on ? &node : NULL, on ? 8 * sizeof node : 0, 0) == 0;
}

static bool (*const settings[])(void *p, size_t bytes, bool on) = {
    wipe_on_fork, leave_out_of_fork, leave_out_of_dumps, merge, ask_for_huge, lock_in_memory,
    name,         protect_by_key,    bind_to_node,
};

/* The kernel's text about the mapping that an address is in: its first line without addresses, and its flags. */
static void mapping_of(const void *p, char text[512])
{
    char line[512];
    unsigned long from, to;
    bool here = false;
    FILE *const maps = fopen("/proc/self/smaps", "r");
    CHECK(maps != NULL);
    text[0] = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            here = (uintptr_t)p >= from && (uintptr_t)p < to;
            snprintf(text + strlen(text), here ? 512 - strlen(text) : 0, "%s", strchr(line, ' '));
        } else if (here && (strncmp(line, "VmFlags:", 8) == 0 || strncmp(line, "ProtectionKey:", 14) == 0)) {
            snprintf(text + strlen(text), 512 - strlen(text), "%s", line);
        }
    }
    fclose(maps);
    int policy = 0;
    if (syscall(SYS_get_mempolicy, &policy, NULL, 0, p, POLICY_OF_ADDRESS) == 0) {
        snprintf(text + strlen(text), 512 - strlen(text), "policy %d", policy);
    }
    CHECK(text[0] != 0);
}

/* The settings of a block move with it, and the next owner of the memory that it left finds none of them. */
static void settings_move_with_the_block(const void *argument)
{
    bool (*const set)(void *p, size_t bytes, bool on) = *(bool (*const *)(void *, size_t, bool))argument;
    enum { BYTES = 4 << 20 };
    char plain[512], marked[512], now[512];
    begin(count_moves);
    unsigned char *const block = block_of(BYTES, 1);
    mapping_of(block, plain);
    if (!set(block, BYTES, true)) {
        fprintf(stderr, "-");
        return;
    }
    mapping_of(block, marked);
    unsigned char *const longer = keep(tslab_realloc(block, 4 * BYTES));
    CHECK(moves == 1 && longer != block && pattern_holds(longer, BYTES, 1));
    mapping_of(longer, now);
    CHECK_SAY(strcmp(now, marked) == 0, "marked: %s\nmoved: %s", marked, now);
    CHECK(set(longer, 4 * (size_t)BYTES, false));
    unsigned char *const again = come_back_to(block, BYTES);
    memset(again, 1, BYTES);
    for (size_t i = 0; i < BYTES; i += UNIT_BYTES) {
        mapping_of(again + i, now);
        CHECK_SAY(strcmp(now, plain) == 0, "before: %s\nnow: %s", plain, now);
    }
    mapping_of(longer, now);
    CHECK_SAY(strcmp(now, plain) == 0, "before: %s\ncleared: %s", plain, now);
}

static void a_lost_target_is_a_gap(const void *argument)
{
    begin(lose);
    unsigned char *const block = block_of(4 * MIB, 1);
    CHECK(pattern_holds(keep(tslab_realloc(block, 16 * MIB)), 4 * MIB, 1) && moves == 1);
    CHECK(counter_get(&depot_usage.lost_units) == 16 * MIB / UNIT_BYTES);
    for (unsigned i = 0; i < 8; i++) {
        unsigned char *const other = keep(tslab_calloc(1, 8 * MIB));
        CHECK(all_zero(other, 8 * MIB));
    }
}

static void a_source_that_stays_unmapped_is_a_gap(const void *argument)
{
    begin(move_then_map_nothing);
    unsigned char *const block = block_of(4 * MIB, 1);
    CHECK(pattern_holds(keep(tslab_realloc(block, 16 * MIB)), 4 * MIB, 1) && moves == 1);
    CHECK(counter_get(&depot_usage.lost_units) == 4 * MIB / UNIT_BYTES);
    inject_nothing();
    unsigned char *const other = block_of(4 * MIB, 2);
    CHECK(pattern_holds(keep(tslab_realloc(other, 16 * MIB)), 4 * MIB, 2));
    for (unsigned i = 0; i < 8; i++) {
        unsigned char *const more = keep(tslab_calloc(1, 2 * MIB));
        CHECK(all_zero(more, 2 * MIB) && (more + 2 * MIB <= block || more >= block + 4 * MIB));
    }
}

/* The kernel joins mappings whose pages were moved with no other, so their number is bounded. */
static void mappings_stay_few(const void *argument)
{
    enum { BLOCKS = 64, ROUNDS = 50 };
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

/* A realloc in place looks at the units that the block gets, and not at those that it has: a part of these that is said
 * to have no pages stays so. */
IN_A_CHILD(large_blocks_grow)
{
    static const size_t steps[] = { 8, 8, 4096, UNIT_BYTES, 3 * UNIT_BYTES + 8, 8 };
    char *const block = keep(tslab_malloc(8 * MIB + 64 * UNIT_BYTES)), *const end = block + 8 * MIB;
    size_t bytes = 8 * MIB + 5;
    CHECK(tslab_realloc(block, bytes) == block);
    pages_set(block + MIB, block + 2 * MIB, false);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        bytes += steps[i];
        CHECK(tslab_realloc(block, bytes) == block && tslab_usable_size(block) >= bytes);
        CHECK_SAY(pages_gone_bytes(block, end) == MIB, "step %zu marks what was there", i);
        CHECK(pages_gone_bytes(end, block + bytes) == 0);
    }
    CHECK(tslab_realloc(block, 5 * MIB) == block && pages_gone_bytes(block, block + 5 * MIB) == MIB);
    pages_set(block + MIB, block + 2 * MIB, true);
    tslab_free(block);
}

TEST(large_blocks_move)
{
    if (GUARDED) {
        return; /* guard pages do not move */
    }
    child_succeeds(pages_go_into_fresh_memory, NULL, "");
    child_succeeds(blocks_move_again_and_again, NULL, "");
    child_succeeds(memory_with_pages_gets_a_copy, NULL, "");
    child_succeeds(long_blocks_go_to_fresh_memory, NULL, "");
    child_succeeds(short_blocks_are_copied, NULL, "");
    child_succeeds(a_refusal_is_one_copy, NULL, "");
    child_succeeds(a_lost_target_is_a_gap, NULL, "");
    child_succeeds(a_source_that_stays_unmapped_is_a_gap, NULL, "");
    child_succeeds(mappings_stay_few, NULL, "");
}

TEST(what_is_set_for_pages_moves)
{
    size_t possible = 0;
    for (size_t i = 0; i < COUNT_OF(settings) && !GUARDED; i++) {
        const struct child child = child_run(settings_move_with_the_block, &settings[i]);
        CHECK_SAY(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0, "%zu: %s", i, child.said);
        possible += child.said[0] != '-';
    }
    CHECK(GUARDED || possible >= 3);
}
