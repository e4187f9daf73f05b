// oscillate: one thread goes to and fro between a low and a high number of live objects, the oldest freed first. What
// an allocator keeps at hand is filled and emptied every time, where it is smaller than the difference.

#include "pattern.h"

#define PARAMETERS(X) X(operations, 0, ANY) X(low, 0, ANY) X(high, 1, ANY) SIZES(X)
PARAMETERS(PARAMETER_VARIABLE)

static void **live;
static uint64_t made;
static uint64_t dropped;

static void rise(actor *a, uint32_t to)
{
    while (made - dropped < to) {
        live[made++ % high] = object_make(a, low_between(random_next(a), min, max));
    }
}

static void fall(actor *a, uint32_t to)
{
    while (made - dropped > to) {
        object_drop(a, live[dropped++ % high]);
    }
}

static void waves(actor *a, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        rise(a, high);
        fall(a, low);
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max && low < high, "min must be no more than max, and low less than high");
    uint64_t times = operations / (high - low) + 1;

    static actor a;
    actor_init(&a, 0);
    live = table_map(high * sizeof *live);
    base_measure();
    waves(&a, times / 10 + 1);
    double start = cpu_begin();
    waves(&a, times);
    double seconds = cpu_end(start);
    rise(&a, high);
    live_sample(&a, 1);
    fall(&a, 0);
    report(times * (high - low), seconds, &a, 1, NULL, 0);
    return 0;
}
