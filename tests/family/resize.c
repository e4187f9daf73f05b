/* The cost of realloc and calloc: a block of size 0 is free, a smaller one gives back, fresh memory is not touched. */
#include "check.h"

#include <errno.h>
#include <malloc.h>

static void *resized(void *block, size_t size)
{
    void *moved = realloc(block, size);
    CHECK_SAY(moved != NULL, "realloc to %zu bytes gave NULL", size);
    CHECK((uintptr_t)moved % 16 == 0);
    CHECK(malloc_usable_size(moved) >= size);
    return moved;
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

/* A calloc that writes zeroes over fresh pages would make a sparse table cost its whole size. */
static void test_fresh_memory_is_not_touched(void)
{
    const size_t size = (size_t)1 << 28;
    for (int round = 0; round < 3; round++) {
        size_t before = resident_kib();
        char *block = calloc(size / 8, 8);
        CHECK(block != NULL);
        size_t grown = resident_kib() - before;
        CHECK_SAY((ptrdiff_t)grown < 8 * 1024, "calloc of 256 MiB made %zu KiB resident", grown);
        for (size_t at = 0; at < size; at += size / 64)
            CHECK(block[at] == 0);
        block[size - 1] = 1;
        free(block);
    }
}

int main(void)
{
    test_fresh_memory_is_not_touched();
    test_null_and_zero();
    test_shrinking_gives_memory_back();
    return 0;
}
