// calloc: one thread replaces random ones of its live objects by zeroed ones, of sizes as applications ask for. Each is
// looked at, all of it, and then filled, so that what is freed is anything but zero.

#include "mixture.h"

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

static void replace(actor *a, void **live, uint32_t live_count, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        void **place = &live[high_below(random_next(a), live_count)];
        object_drop(a, *place);
        *place = zeroed_make(a);
    }
    live_sample(a, 1);
}

int main(int count, char **words)
{
    uint64_t values[2];
    arguments_read(count, words, "OPERATIONS LIVE", values, 2);
    uint32_t live_count = (uint32_t)values[1];
    require(live_count != 0, "there must be live objects");

    static actor a;
    actor_init(&a, 0);
    void **live = table_map(live_count * sizeof *live);
    base_measure();
    for (uint32_t i = 0; i < live_count; i++) {
        live[i] = zeroed_make(&a);
    }
    replace(&a, live, live_count, values[0] / 5);
    double start = cpu_begin();
    replace(&a, live, live_count, values[0]);
    double seconds = cpu_end(start);
    for (uint32_t i = 0; i < live_count; i++) {
        object_drop(&a, live[i]);
    }
    report(values[0], seconds, &a, 1, NULL, 0);
    return 0;
}
