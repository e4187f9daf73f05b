/* Sizes at both ends: nothing at all, and more than there is. Products that overflow. */
#include "check.h"

#include <errno.h>
#include <malloc.h>

/* posix_memalign tells its error by its value, which is put where the others have theirs. */
static void *posix_memalign_64(size_t size)
{
    void *block = NULL;
    errno = posix_memalign(&block, 64, size);
    return block;
}

#define WAYS(WAY)                                                                                                      \
    WAY(by_malloc, malloc(n))                                                                                          \
    WAY(by_calloc_one, calloc(1, n))                                                                                   \
    WAY(by_calloc_bytes, calloc(n, 1))                                                                                 \
    WAY(by_realloc, realloc(NULL, n))                                                                                  \
    WAY(by_reallocarray_one, reallocarray(NULL, 1, n))                                                                 \
    WAY(by_reallocarray_bytes, reallocarray(NULL, n, 1))                                                               \
    WAY(by_aligned_16, aligned_alloc(16, n))                                                                           \
    WAY(by_aligned_64, aligned_alloc(64, n))                                                                           \
    WAY(by_aligned_page, aligned_alloc(4096, n))                                                                       \
    WAY(by_aligned_mib, aligned_alloc(1 << 20, n))                                                                     \
    WAY(by_memalign, memalign(32, n))                                                                                  \
    WAY(by_posix_memalign, posix_memalign_64(n))                                                                       \
    WAY(by_valloc, valloc(n))                                                                                          \
    WAY(by_pvalloc, pvalloc(n))

#define FUNCTION(by, call)                                                                                             \
    static void *by(size_t n)                                                                                          \
    {                                                                                                                  \
        return call;                                                                                                   \
    }
#define ROW(by, call) { #call, by },

WAYS(FUNCTION)

static const struct way {
    const char *name;
    void *(*allocate)(size_t size);
} ways[] = { WAYS(ROW) };

static void refuse(const struct way *way, size_t size)
{
    errno = 0;
    void *block = way->allocate(size);
    CHECK_SAY(block == NULL, "%s of %#zx bytes gave memory", way->name, size);
    CHECK_SAY(errno == ENOMEM, "%s of %#zx bytes: errno %d, not ENOMEM", way->name, size, errno);
}

static void test_absurd_sizes(void)
{
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        for (size_t n = 0; n <= 5000; n++) {
            refuse(&ways[i], (size_t)PTRDIFF_MAX - n);
            refuse(&ways[i], (size_t)PTRDIFF_MAX + 1 + n);
            refuse(&ways[i], SIZE_MAX - n);
        }
        for (size_t n = SIZE_MAX; n >= (size_t)1 << 47; n /= 2)
            refuse(&ways[i], n);
        for (size_t n = (size_t)1 << 47; n != 0; n *= 2)
            refuse(&ways[i], n);
    }
}

static void test_failed_realloc_keeps_the_block(void)
{
    static const size_t sizes[] = { 1, 100, 5000, 100000, 3000000 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *block = malloc(sizes[i]);
        pattern_fill(block, sizes[i], i);
        errno = 0;
        CHECK(realloc(block, unseen(SIZE_MAX - 100)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(realloc(block, unseen(PTRDIFF_MAX)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(reallocarray(block, unseen(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM);
        CHECK(pattern_holds(block, sizes[i], i));
        free(block);
    }
}

static void test_overflowing_products(void)
{
    const size_t half = (size_t)1 << 32;
    const size_t pairs[][2] = {
        { half, half },
        { half + 1, half },
        { SIZE_MAX / 2 + 1, 2 },
        { SIZE_MAX, 2 },
        { SIZE_MAX, SIZE_MAX },
        { 2, SIZE_MAX },
        { 3, SIZE_MAX / 3 + 1 },
        { SIZE_MAX / 16 + 1, 16 },
        { SIZE_MAX / 16 + 2, 16 },
        { SIZE_MAX / 24 + 1, 24 },
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        errno = 0;
        CHECK_SAY(keep(calloc(pairs[i][0], pairs[i][1])) == NULL && errno == ENOMEM, "calloc, pair %zu", i);
        errno = 0;
        CHECK_SAY(keep(reallocarray(NULL, pairs[i][0], pairs[i][1])) == NULL && errno == ENOMEM, "pair %zu", i);
        errno = 0;
        CHECK_SAY(keep(calloc(pairs[i][1], pairs[i][0])) == NULL && errno == ENOMEM, "calloc, pair %zu turned", i);
    }
}

static void test_nothing_is_something(void)
{
    enum { each = 200 };
    static void *blocks[COUNT_OF(ways) * each];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        for (size_t n = 0; n < each; n++) {
            void *block = ways[i].allocate(0);
            CHECK_SAY(block != NULL, "%s of 0 bytes gave NULL", ways[i].name);
            CHECK_SAY((uintptr_t)block % 16 == 0, "%s of 0 bytes is not aligned", ways[i].name);
            for (size_t other = 0; other < count; other++)
                CHECK_SAY(blocks[other] != block, "%s of 0 bytes gave a block that is in use", ways[i].name);
            blocks[count++] = block;
        }
    while (count > 0)
        free(blocks[--count]);

    void *block = calloc(0, unseen(SIZE_MAX));
    CHECK(block != NULL);
    free(block);
    block = calloc(unseen(SIZE_MAX), 0);
    CHECK(block != NULL);
    free(block);
}

int main(void)
{
    test_nothing_is_something();
    test_overflowing_products();
    test_failed_realloc_keeps_the_block();
    test_absurd_sizes();
    void *block = malloc(1000);
    CHECK(block != NULL);
    free(block);
    return 0;
}
