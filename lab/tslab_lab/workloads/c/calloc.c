// calloc: one thread replaces random ones of its live objects by zeroed ones, of sizes as applications ask for. Each is
// looked at, all of it, and then filled, so that what is freed is anything but zero.

#include "mixture.h"
#include "replacing.h"

static void *zeroed_make(actor *a, const uint32_t *sizes)
{
    (void)sizes; // its own
    uint32_t size = mixture_size(a);
    unsigned char *object = timed_calloc(a, size);
    unsigned char any = 0;
    for (uint32_t i = 0; i < size; i++) {
        any |= object[i];
    }
    if (any != 0) {
        fail("calloc gave memory that is not zero");
    }
    memset(object, 0xA5, size);
    object_mark(a, object, size);
    return object;
}

static void replace(actor *a, void **live, uint32_t live_count, const uint32_t *sizes, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        void **place = &live[high_below(random_next(a), live_count)];
        object_drop(a, *place);
        *place = zeroed_make(a, sizes);
    }
}

int main(int count, char **words)
{
    uint64_t values[2];
    arguments_read(count, words, "OPERATIONS LIVE", values, 2);
    replacing_run((replacing_parts){ zeroed_make, replace }, (uint32_t)values[1], NULL, values[0] / 5, values[0]);
    return 0;
}
