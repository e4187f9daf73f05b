// oscillate: one thread goes to and fro between a low and a high number of live objects, the oldest freed first. What
// an allocator keeps at hand is filled and emptied every time, where it is smaller than the difference.

#include "pattern.h"

static void **live;
static uint32_t high;
static uint32_t sizes[2];
static uint64_t made;
static uint64_t dropped;

static void rise(actor *a, uint32_t to)
{
    while (made - dropped < to) {
        live[made++ % high] = object_make(a, low_between(random_next(a), sizes[0], sizes[1]));
    }
}

static void fall(actor *a, uint32_t to)
{
    while (made - dropped > to) {
        object_drop(a, live[dropped++ % high]);
    }
}

static void waves(actor *a, uint64_t times, uint32_t low)
{
    for (uint64_t i = 0; i < times; i++) {
        rise(a, high);
        fall(a, low);
    }
}

int main(int count, char **words)
{
    uint64_t values[5];
    arguments_read(count, words, "OPERATIONS LOW HIGH LEAST MOST", values, 5);
    uint32_t low = (uint32_t)values[1];
    high = (uint32_t)values[2];
    sizes[0] = (uint32_t)values[3];
    sizes[1] = (uint32_t)values[4];
    sizes_check(sizes[0], sizes[1]);
    require(low < high, "the low mark must be below the high one");
    uint64_t times = values[0] / (high - low) + 1;

    static actor a;
    actor_init(&a, 0);
    live = table_map(high * sizeof *live);
    base_measure();
    waves(&a, times / 10 + 1, low);
    double start = cpu_begin();
    waves(&a, times, low);
    double seconds = cpu_end(start);
    rise(&a, high);
    live_sample(&a, 1);
    fall(&a, 0);
    report(times * (high - low), seconds, &a, 1, NULL, 0);
    return 0;
}
