/* calloc gives zeroes, whatever the memory was before, and does not touch memory that the kernel has just given. */
#include "check.h"

#include <malloc.h>

static void dirty(void *block)
{
    memset(block, 0xff, malloc_usable_size(block));
}

/* Several blocks of each size, so that recycled ones come from more than one place. */
static void test_recycled_memory(void)
{
    enum { several = 4 };
    for (size_t size = 1; size <= 70000; size++) {
        void *blocks[several];
        size_t count = size < 10000 || size % 16 == 1 ? several : 1;
        for (size_t i = 0; i < count; i++) {
            blocks[i] = malloc(size);
            CHECK(blocks[i] != NULL);
            dirty(blocks[i]);
        }
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
        for (size_t i = 0; i < count; i++) {
            blocks[i] = i % 2 ? calloc(size, 1) : calloc(1, size);
            CHECK(blocks[i] != NULL);
            CHECK_SAY(all_zero(blocks[i], size), "calloc of %zu bytes is not zero", size);
        }
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
    }
}

static void test_recycled_large_memory(void)
{
    for (size_t size = 80000; size < (size_t)48 << 20; size += size / 5 + 333) {
        void *block = malloc(size);
        CHECK(block != NULL);
        dirty(block);
        free(block);
        block = calloc(size / 3, 3);
        CHECK(block != NULL);
        CHECK_SAY(all_zero(block, size / 3 * 3), "calloc of %zu bytes is not zero", size);
        dirty(block);
        free(block);
    }
}

/* A calloc that writes zeroes over fresh pages would make a sparse table cost its whole size. */
static void test_fresh_memory_is_not_touched(void)
{
    const size_t size = (size_t)1 << 30;
    for (int round = 0; round < 3; round++) {
        size_t before = resident_kib();
        char *block = calloc(size / 8, 8);
        CHECK(block != NULL);
        size_t grown = resident_kib() - before;
        CHECK_SAY((ptrdiff_t)grown < 8 * 1024, "calloc of 1 GiB made %zu KiB resident", grown);
        for (size_t at = 0; at < size; at += size / 64)
            CHECK(block[at] == 0);
        block[size - 1] = 1;
        free(block);
    }
}

int main(void)
{
    test_fresh_memory_is_not_touched();
    test_recycled_memory();
    test_recycled_large_memory();
    return 0;
}
