// calloc: one thread replaces random ones of its live objects by zeroed ones, of sizes as applications ask for. Each is
// looked at, all of it, and then filled, so that what is freed is anything but zero.

#include "mixture.h"
#include "replacing.h"

#define PARAMETERS(X) X(operations, 0, ANY) X(live_count, 1, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static void *zeroed_make(actor *a)
{
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

static void replace(actor *a, void **live, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        void **place = &live[high_below(random_next(a), live_count)];
        object_drop(a, *place);
        *place = zeroed_make(a);
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    replacing_run((replacing_parts){ zeroed_make, replace }, live_count, operations / 5, operations);
    return 0;
}
