// A library to preload beside an allocator: before the program begins, many objects of an application's sizes are made,
// and nearly all of them freed in random order, so that a few survive everywhere. The program then runs on a heap as it
// is after days, not on a fresh one. The peak RSS is counted from here on.

#include "self.h"

#include <stdio.h>

enum { OBJECTS = 100 * 1000, SURVIVOR_EVERY = 20, SMALL_MOST = 256, LARGE_MOST = 2048 };

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "litter: %s\n", what);
    abort();
}

static void peak_forget(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "5", 1) != 1) {
        fail("the peak RSS cannot be counted anew");
    }
    close(file);
}

__attribute__((constructor)) static void litter(void)
{
    size_t bytes = OBJECTS * sizeof(void *);
    void **objects = table_map(bytes);
    uint64_t random = UINT64_C(0x2545F4914F6CDD1D);
    for (uint32_t i = 0; i < OBJECTS; i++) {
        uint64_t next = random_step(&random);
        size_t size = 16 + high_below(next, next % 10 == 0 ? LARGE_MOST : SMALL_MOST);
        objects[i] = malloc(size);
        if (objects[i] == NULL) {
            fail("malloc returned NULL");
        }
        memset(objects[i], 1, size);
        uint32_t other = high_below(random_step(&random), i + 1);
        void *swapped = objects[i];
        objects[i] = objects[other];
        objects[other] = swapped;
    }
    for (uint32_t i = 0; i < OBJECTS; i++) {
        if (i % SURVIVOR_EVERY != 0) {
            free(objects[i]);
        }
    }
    munmap(objects, bytes);
    peak_forget();
}
