/* free says nothing: it leaves errno alone, for blocks of every kind, and takes NULL. */
#include "check.h"

#include <errno.h>
#include <malloc.h>

static void free_quietly(void *block)
{
    CHECK(block != NULL);
    errno = 12345;
    free(block);
    CHECK_SAY(errno == 12345, "free changed errno to %d", errno);
}

int main(void)
{
    errno = 12345;
    free(NULL);
    CHECK(errno == 12345);

    for (size_t size = 0; size < 100000; size += 1 + size / 50)
        free_quietly(malloc(size));
    /* Beyond any budget for freed memory, free returns it to the kernel. That must not show either. */
    for (size_t size = 100000; size <= (size_t)1 << 30; size *= 2) {
        char *block = malloc(size);
        CHECK(block != NULL);
        for (size_t at = 0; at < size; at += 64 << 10)
            block[at] = 1;
        free_quietly(block);
    }
    for (size_t alignment = 16; alignment <= (size_t)1 << 30; alignment *= 2)
        free_quietly(memalign(alignment, 100));

    /* Many at once, so that slow paths are met too. */
    enum { count = 200000 };
    static void *blocks[count];
    uint64_t random = 1;
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(random_next(&random) % 600);
    errno = 12345;
    for (int i = 0; i < count; i++) {
        free(blocks[i]);
        CHECK(errno == 12345);
    }

    /* Success leaves errno alone in the others as well. */
    errno = 12345;
    void *block = realloc(calloc(3, 5), 200000);
    block = realloc(block, 10);
    CHECK(errno == 12345);
    CHECK(malloc_usable_size(block) >= 10);
    free_quietly(block);
    return 0;
}
