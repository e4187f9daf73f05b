/* Alignment: of plain malloc, of every power of two up to 1 GiB, and of arguments that are no power of two. */
#include "check.h"

#include <errno.h>
#include <malloc.h>

static const size_t sizes[] = { 0,     1,     8,     16,     24,     31,      64,     100,   128,
                                200,   500,   1000,  4000,   4096,   4097,    8000,   16384, 20000,
                                32768, 32769, 65536, 100000, 262144, 1000001, 3 << 20 };

static int is_aligned(const void *block, size_t alignment)
{
    return (uintptr_t)block % alignment == 0;
}

static void write_ends(void *block, size_t size)
{
    if (size > 0) {
        ((char *)block)[0] = 1;
        ((char *)block)[size - 1] = 2;
    }
}

/* Three of each at a time, as the second and third do not lie at a fresh and thus well-aligned place. */
static void test_powers_of_two(void)
{
    for (size_t alignment = 1; alignment <= (size_t)1 << 30; alignment *= 2)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            void *blocks[9];
            for (size_t n = 0; n < 9; n += 3) {
                blocks[n] = aligned_alloc(alignment, sizes[i]);
                blocks[n + 1] = memalign(alignment, sizes[i]);
                blocks[n + 2] = NULL;
                int error = posix_memalign(&blocks[n + 2], alignment < 8 ? 8 : alignment, sizes[i]);
                CHECK_SAY(error == 0, "posix_memalign(%zu, %zu): error %d", alignment, sizes[i], error);
            }
            for (size_t n = 0; n < 9; n++) {
                CHECK_SAY(blocks[n] != NULL && is_aligned(blocks[n], alignment) && is_aligned(blocks[n], 16),
                          "%zu bytes aligned to %zu are at %p", sizes[i], alignment, blocks[n]);
                CHECK(malloc_usable_size(blocks[n]) >= sizes[i]);
                write_ends(blocks[n], sizes[i]);
                write_ends(blocks[n], malloc_usable_size(blocks[n]));
            }
            for (size_t n = 0; n < 9; n++)
                free(blocks[n]);
        }
}

/* glibc 2.36 rounds an alignment that is no power of two up to the next one, and takes 0 as no wish at all. */
static void test_odd_alignments(void)
{
    static const size_t odd[] = {
        0, 3, 5, 12, 17, 20, 24, 33, 40, 48, 96, 100, 192, 1000, 1536, 3000, 4097, 5000, 70000
    };
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        for (size_t n = 0; n < COUNT_OF(sizes); n++) {
            size_t expected = 16;
            while (expected < odd[i])
                expected *= 2;
            void *blocks[4] = { memalign(odd[i], sizes[n]), aligned_alloc(odd[i], sizes[n]), memalign(odd[i], sizes[n]),
                                aligned_alloc(odd[i], sizes[n]) };
            for (size_t b = 0; b < 4; b++)
                CHECK_SAY(blocks[b] != NULL && is_aligned(blocks[b], expected), "alignment %zu, size %zu: %p", odd[i],
                          sizes[n], blocks[b]);
            for (size_t b = 0; b < 4; b++)
                free(blocks[b]);
        }
}

static void test_absurd_alignments(void)
{
    static const size_t too_large[] = { (size_t)1 << 48, (size_t)1 << 62, (size_t)1 << 63 };
    for (size_t i = 0; i < COUNT_OF(too_large); i++) {
        errno = 0;
        CHECK(keep(memalign(too_large[i], 1)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(keep(aligned_alloc(too_large[i], 100)) == NULL && errno == ENOMEM);
        void *block = &errno;
        CHECK(posix_memalign(&block, too_large[i], 1) == ENOMEM && block == &errno);
    }
    static const size_t not_representable[] = { ((size_t)1 << 63) + 1, SIZE_MAX - 1, SIZE_MAX };
    for (size_t i = 0; i < COUNT_OF(not_representable); i++) {
        errno = 0;
        CHECK(keep(memalign(not_representable[i], 1)) == NULL && errno == EINVAL);
        errno = 0;
        CHECK(keep(aligned_alloc(not_representable[i], 1)) == NULL && errno == EINVAL);
    }
}

static void test_posix_memalign_refuses(void)
{
    static const size_t wrong[] = { 0,  1,  2,  3,   4,    6,    7,    9,        12,          20,
                                    24, 40, 48, 100, 1000, 4095, 4097, SIZE_MAX, SIZE_MAX - 7 };
    void *const untouched = (void *)wrong;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        void *block = untouched;
        int error = posix_memalign(&block, wrong[i], 100);
        CHECK_SAY(error == EINVAL, "posix_memalign with alignment %zu: %d, not EINVAL", wrong[i], error);
        CHECK(block == untouched);
    }
    void *block = untouched;
    CHECK(posix_memalign(&block, 64, SIZE_MAX) == ENOMEM && block == untouched);
    CHECK(posix_memalign(&block, 4096, PTRDIFF_MAX) == ENOMEM && block == untouched);
    /* glibc leaves in errno that there is no memory, and nothing else. */
    errno = ERANGE;
    CHECK(posix_memalign(&block, 24, 100) == EINVAL && errno == ERANGE);
    CHECK(posix_memalign(&block, 8, PTRDIFF_MAX) == ENOMEM && errno == ENOMEM);
    errno = ERANGE;
    CHECK(posix_memalign(&block, 4096, unseen(SIZE_MAX - 4095)) == ENOMEM && errno == ENOMEM);
    errno = ERANGE;
    CHECK(posix_memalign(&block, 8, 0) == 0 && block != untouched && block != NULL && errno == ERANGE);
    free(block);
}

static void test_page_functions(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *block = valloc(sizes[i]);
        CHECK(block != NULL && is_aligned(block, page));
        write_ends(block, sizes[i]);
        void *rounded = pvalloc(sizes[i]);
        CHECK(rounded != NULL && is_aligned(rounded, page));
        size_t whole = (sizes[i] + page - 1) / page * page;
        CHECK_SAY(malloc_usable_size(rounded) >= whole, "pvalloc(%zu) does not give whole pages", sizes[i]);
        write_ends(rounded, whole);
        free(block);
        free(rounded);
    }
    for (size_t n = 0; n < page; n += page / 8) {
        errno = 0;
        CHECK(keep(pvalloc(SIZE_MAX - n)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(keep(valloc(SIZE_MAX - n)) == NULL && errno == ENOMEM);
    }
}

int main(void)
{
    test_powers_of_two();
    test_odd_alignments();
    test_absurd_alignments();
    test_posix_memalign_refuses();
    test_page_functions();
    return 0;
}
