/*
 * A program with a malloc, a calloc and a realloc of its own that call the __libc_ names, and with the free that it
 * finds, as programs have that count their allocations or let some fail: what those names give belongs to the free
 * beside them.
 */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *block);

static size_t calls;

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    calls++;
    return __libc_realloc(block, size);
}

/* A library that does not serve the program's malloc has no figures of it. */
static void asks_jemalloc(void)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    CHECK(mallctl == NULL || mallctl("epoch", NULL, NULL, NULL, 0) == ENOENT);
}

int main(void)
{
    asks_jemalloc();
    static const size_t sizes[] = { 1, 100, 5000, 40000, 3000000 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const size_t size = sizes[i];
        void *blocks[] = { malloc(size),
                           calloc(1, size),
                           realloc(strdup("text"), size),
                           realloc(aligned_alloc(64, 10), size),
                           __libc_memalign(4096, size),
                           __libc_valloc(size),
                           __libc_pvalloc(size),
                           __libc_realloc(malloc(1), size) };
        CHECK(all_zero(blocks[1], size));
        for (size_t b = 0; b < COUNT_OF(blocks); b++) {
            CHECK_SAY(malloc_usable_size(blocks[b]) >= size, "block %zu of %zu bytes", b, size);
            pattern_fill(blocks[b], size, b);
        }
        for (size_t b = 0; b < COUNT_OF(blocks); b++) {
            CHECK(pattern_holds(blocks[b], size, b));
            if (b % 2 == 0)
                free(blocks[b]);
            else
                __libc_free(blocks[b]);
        }
    }
    CHECK(__libc_malloc(unseen(SIZE_MAX)) == NULL && errno == ENOMEM);
    __libc_free(NULL);
    CHECK(calls > 5 * COUNT_OF(sizes)); /* strdup's, too */
    return 0;
}
