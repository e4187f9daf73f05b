/* Names that glibc 2.36 lacks, or keeps for old programs only, and that the drop-in has all the same. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    CHECK_SAY(found != NULL, "there is no %s", name);
    return found;
}

int main(void)
{
    if (dlsym(RTLD_DEFAULT, "free_sized") == NULL && dlsym(RTLD_DEFAULT, "tslab_version") == NULL) {
        puts("the system's malloc has no free_sized");
        return CHECK_SKIPPED;
    }
    void (*sized)(void *, size_t) = (void (*)(void *, size_t))find("free_sized");
    void (*aligned_sized)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))find("free_aligned_sized");
    void (*old_free)(void *) = (void (*)(void *))find("cfree");

    errno = 12345;
    sized(NULL, 0);
    sized(NULL, 100);
    aligned_sized(NULL, 64, 128);
    old_free(NULL);
    size_t before = resident_kib();
    for (int round = 0; round < 20; round++)
        for (size_t size = 0; size < 3000000; size += 1 + size / 9) {
            void *blocks[] = { malloc(size),
                               calloc(1, size),
                               realloc(malloc(1), size + 1),
                               aligned_alloc(256, size),
                               aligned_alloc(4096, size),
                               malloc(size) };
            for (size_t i = 0; i < COUNT_OF(blocks); i++)
                memset(blocks[i], 1, size);
            sized(blocks[0], size);
            sized(blocks[1], size);
            sized(blocks[2], size + 1);
            aligned_sized(blocks[3], 256, size);
            aligned_sized(blocks[4], 4096, size);
            old_free(blocks[5]);
        }
    CHECK(errno == 12345);
    malloc_trim(0);
    CHECK_SAY((ptrdiff_t)(resident_kib() - before) < 8 * 1024, "what these free does not come back");
    return 0;
}
