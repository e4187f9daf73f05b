/* realloc keeps what was there, whichever way the block changes: within small, to large, in place or moved, and back.
 */
#include "check.h"

#include <errno.h>
#include <malloc.h>

static const size_t sizes[] = {
    1,     7,     15,     16,     17,     24,     32,     33,      48,      64,      65,      100,
    128,   129,   200,    256,    300,    512,    700,    1000,    1024,    1025,    2000,    2048,
    4000,  4096,  5000,   8192,   10000,  16384,  20000,  32767,   32768,   32769,   40000,   65536,
    65537, 99999, 131072, 135000, 200000, 262144, 500000, 1048576, 1050000, 3000000, 8388608,
};

static void *resized(void *block, size_t size)
{
    void *moved = realloc(block, size);
    CHECK_SAY(moved != NULL, "realloc to %zu bytes gave NULL", size);
    CHECK((uintptr_t)moved % 16 == 0);
    CHECK(malloc_usable_size(moved) >= size);
    return moved;
}

static void test_every_pair(void)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            size_t from = sizes[i], to = sizes[j], kept = from < to ? from : to;
            void *block = malloc(from);
            pattern_fill(block, from, i);
            block = resized(block, to);
            CHECK_SAY(pattern_holds(block, kept, i), "realloc from %zu to %zu lost bytes", from, to);
            pattern_fill(block, to, j);
            block = resized(block, from);
            CHECK_SAY(pattern_holds(block, kept, j), "realloc from %zu to %zu lost bytes", to, from);
            free(block);
        }
}

/* Blocks of every origin may be resized. */
static void test_aligned_blocks(void)
{
    for (size_t alignment = 32; alignment <= (size_t)1 << 20; alignment *= 2)
        for (size_t i = 0; i < COUNT_OF(sizes); i += 5) {
            void *block = memalign(alignment, sizes[i]);
            pattern_fill(block, sizes[i], i);
            block = resized(block, sizes[i] + 1000);
            CHECK(pattern_holds(block, sizes[i], i));
            free(block);
        }
    void *block = calloc(10, 10);
    block = resized(block, 100000);
    CHECK(all_zero(block, 100));
    free(block);
}

static void test_small_steps(void)
{
    unsigned char *block = NULL;
    size_t size = 0;
    for (size_t next = 1; next < 300000; next += 61) {
        block = resized(block, next);
        for (size_t at = size; at < next; at++)
            block[at] = (unsigned char)(at * 7 + at / 256);
        size = next;
    }
    for (size_t at = 0; at < size; at++)
        CHECK(block[at] == (unsigned char)(at * 7 + at / 256));
    for (; size > 300; size -= 291) {
        block = resized(block, size);
        CHECK(block[size - 1] == (unsigned char)((size - 1) * 7 + (size - 1) / 256));
    }
    for (size_t at = 0; at < size; at++)
        CHECK(block[at] == (unsigned char)(at * 7 + at / 256));
    free(block);
}

/* Two that grow by turns stand in each other's way; one that grows alone may do so in place. */
static void test_large_growth(void)
{
    for (int together = 0; together < 2; together++) {
        size_t size = 50000;
        char *first = malloc(size), *second = malloc(size);
        while (size < (size_t)40 << 20) {
            pattern_fill(first, size, 1);
            pattern_fill(second, together ? size : 50000, 2);
            size_t next = size + size / 2 + 4321;
            first = resized(first, next);
            CHECK(pattern_holds(first, size, 1));
            if (together) {
                second = resized(second, next);
                CHECK(pattern_holds(second, size, 2));
            }
            size = next;
        }
        pattern_fill(first, size, 3);
        first = resized(first, 200000);
        CHECK(pattern_holds(first, 200000, 3));
        first = resized(first, 20);
        CHECK(pattern_holds(first, 20, 3));
        free(first);
        free(second);
    }
}

static void test_null_and_zero(void)
{
    char *block = realloc(NULL, 100);
    CHECK(block != NULL);
    memset(block, 1, 100);
    errno = 0;
    CHECK(realloc(block, 0) == NULL);
    CHECK(errno == 0);
    block = reallocarray(NULL, 10, 10);
    CHECK(block != NULL);
    CHECK(reallocarray(block, 0, 10) == NULL);
    block = malloc(10);
    CHECK(reallocarray(block, unseen(SIZE_MAX), 0) == NULL);

    /* realloc(p, 0) frees: it would cost 6 GiB otherwise. */
    size_t before = resident_kib();
    for (int i = 0; i < 100000; i++) {
        block = malloc(i % 2 ? 64 << 10 : 5000);
        memset(block, 1, 5000);
        CHECK(realloc(block, 0) == NULL);
    }
    CHECK((ptrdiff_t)(resident_kib() - before) < 16 * 1024);
}

/* A large block that becomes a small one must give the rest back. */
static void test_shrinking_gives_memory_back(void)
{
    enum { count = 100, large = 1 << 20 };
    static char *blocks[count];
    size_t before = resident_kib();
    for (int i = 0; i < count; i++) {
        blocks[i] = malloc(large);
        memset(blocks[i], 1, large);
        blocks[i] = resized(blocks[i], 100);
    }
    malloc_trim(0);
    size_t grown = resident_kib() - before;
    CHECK_SAY((ptrdiff_t)grown < 16 * 1024, "%d blocks of 100 bytes keep %zu KiB", count, grown);
    for (int i = 0; i < count; i++)
        free(blocks[i]);
}

int main(void)
{
    test_null_and_zero();
    test_small_steps();
    test_large_growth();
    test_shrinking_gives_memory_back();
    test_aligned_blocks();
    test_every_pair();
    return 0;
}
