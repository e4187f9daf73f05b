// replace: one thread replaces random ones of its live objects by new ones of random size.

#include "replacing.h"

static void replace(actor *a, void **live, uint32_t live_count, const uint32_t *sizes, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(a);
        void **place = &live[high_below(random, live_count)];
        object_drop(a, *place);
        *place = object_make(a, low_between(random, sizes[0], sizes[1]));
    }
}

static void *first_make(actor *a, const uint32_t *sizes)
{
    return object_make(a, low_between(random_next(a), sizes[0], sizes[1]));
}

int main(int count, char **words)
{
    uint64_t values[4];
    arguments_read(count, words, "OPERATIONS LIVE LEAST MOST", values, 4);
    uint32_t sizes[2] = { (uint32_t)values[2], (uint32_t)values[3] };
    sizes_check(sizes[0], sizes[1]);
    uint64_t warm_up = values[0] / 5 > values[1] ? values[0] / 5 : values[1];
    replacing_run((replacing_parts){ first_make, replace }, (uint32_t)values[1], sizes, warm_up, values[0]);
    return 0;
}
