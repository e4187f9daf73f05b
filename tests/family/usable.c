/* Every byte that malloc_usable_size promises can be written without hurting a neighbour, or the allocator. */
#include "check.h"

#include <malloc.h>

enum { neighbours = 64 };

static void fill_verify_free(void **blocks, const size_t *asked, size_t count)
{
    size_t usable[neighbours];
    for (size_t i = 0; i < count; i++) {
        CHECK(blocks[i] != NULL);
        usable[i] = malloc_usable_size(blocks[i]);
        CHECK_SAY(usable[i] >= asked[i], "%zu bytes asked, only %zu usable", asked[i], usable[i]);
        pattern_fill(blocks[i], usable[i], asked[i] * 131 + i);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_SAY(pattern_holds(blocks[i], usable[i], asked[i] * 131 + i),
                  "a block of %zu bytes (%zu usable) was overwritten by a neighbour", asked[i], usable[i]);
        CHECK(malloc_usable_size(blocks[i]) == usable[i]);
    }
    for (size_t i = 0; i < count; i += 2)
        free(blocks[i]);
    for (size_t i = 1; i < count; i += 2) {
        CHECK(pattern_holds(blocks[i], usable[i], asked[i] * 131 + i));
        free(blocks[i]);
    }
}

static void test_neighbours_of_all_sizes(void)
{
    void *blocks[neighbours];
    size_t asked[neighbours];
    for (size_t size = 0; size <= 70000; size += neighbours) {
        for (size_t i = 0; i < neighbours; i++) {
            asked[i] = size + i;
            blocks[i] = malloc(asked[i]);
        }
        fill_verify_free(blocks, asked, neighbours);
    }
}

static void test_neighbours_of_one_size(void)
{
    void *blocks[neighbours];
    size_t asked[neighbours];
    for (size_t size = 1; size <= 40000; size += size < 1100 ? 1 : size / 40) {
        for (size_t i = 0; i < neighbours; i++) {
            asked[i] = size;
            blocks[i] = malloc(size);
        }
        fill_verify_free(blocks, asked, neighbours);
    }
}

static void test_other_origins(void)
{
    for (size_t size = 1; size < 3000000; size += size / 3 + 1) {
        void *blocks[] = { calloc(1, size),
                           realloc(malloc(size / 2 + 1), size),
                           memalign(32, size),
                           memalign(64, size),
                           memalign(512, size),
                           memalign(4096, size),
                           memalign(1 << 16, size),
                           valloc(size),
                           malloc(size) };
        size_t asked[COUNT_OF(blocks)];
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            asked[i] = size;
        fill_verify_free(blocks, asked, COUNT_OF(blocks));
    }
}

/* Growing into the usable size is a resize like any other: the bytes must stay. */
static void test_growing_into_it(void)
{
    for (size_t size = 1; size < 2000000; size += size / 7 + 1) {
        void *block = malloc(size);
        size_t usable = malloc_usable_size(block);
        pattern_fill(block, usable, size);
        block = realloc(block, usable);
        CHECK(block != NULL && malloc_usable_size(block) >= usable);
        CHECK(pattern_holds(block, usable, size));
        free(block);
    }
}

int main(void)
{
    CHECK(malloc_usable_size(NULL) == 0);
    test_neighbours_of_all_sizes();
    test_neighbours_of_one_size();
    test_other_origins();
    test_growing_into_it();
    return 0;
}
