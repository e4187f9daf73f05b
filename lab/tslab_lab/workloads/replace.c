// replace: one thread replaces random ones of its live objects by new ones of random size.

#include "pattern.h"

static void replace(actor *a, void **live, uint32_t live_count, const uint32_t *sizes, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(a);
        void **place = &live[high_below(random, live_count)];
        object_drop(a, *place);
        *place = object_make(a, low_between(random, sizes[0], sizes[1]));
    }
}

int main(int count, char **words)
{
    uint64_t values[4];
    arguments_read(count, words, "OPERATIONS LIVE LEAST MOST", values, 4);
    uint64_t operations = values[0];
    uint32_t live_count = (uint32_t)values[1];
    uint32_t sizes[2] = { (uint32_t)values[2], (uint32_t)values[3] };
    sizes_check(sizes[0], sizes[1]);
    require(live_count != 0, "there must be live objects");

    static actor a;
    actor_init(&a, 0);
    void **live = table_map(live_count * sizeof *live);
    base_measure();
    for (uint32_t i = 0; i < live_count; i++) {
        live[i] = object_make(&a, low_between(random_next(&a), sizes[0], sizes[1]));
    }
    uint64_t warm_up = operations / 5 > live_count ? operations / 5 : live_count;
    replace(&a, live, live_count, sizes, warm_up);
    live_sample(&a, 1);

    double start = cpu_begin();
    replace(&a, live, live_count, sizes, operations);
    double seconds = cpu_end(start);

    live_sample(&a, 1);
    for (uint32_t i = 0; i < live_count; i++) {
        object_drop(&a, live[i]);
    }
    report(operations, seconds, &a, 1, NULL, 0);
    return 0;
}
