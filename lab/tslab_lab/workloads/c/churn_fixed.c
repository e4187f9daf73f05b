// churn-fixed: one thread replaces objects of one size among many live ones. A share of those that it frees are among
// the latest that it allocated, the others are any.

#include "pattern.h"

enum { LATEST = 64 };

static void **live;
static uint32_t live_count;
static uint32_t size;
static uint32_t locality_percent;

static void replace(actor *a, uint64_t times)
{
    uint32_t latest[LATEST] = { 0 };
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(a);
        int local = high_below(random_next(a), 100) < locality_percent;
        uint32_t place = local ? latest[random % LATEST] : high_below(random, live_count);
        object_drop(a, live[place]);
        live[place] = object_make(a, size);
        latest[i % LATEST] = place;
    }
}

int main(int count, char **words)
{
    uint64_t values[4];
    arguments_read(count, words, "OPERATIONS LIVE SIZE LOCALITY_PERCENT", values, 4);
    live_count = (uint32_t)values[1];
    size = (uint32_t)values[2];
    locality_percent = (uint32_t)values[3];
    sizes_check(size, size);
    require(live_count != 0 && locality_percent <= 100, "there must be live objects, and the locality is a percentage");

    static actor a;
    actor_init(&a, 0);
    live = table_map(live_count * sizeof *live);
    base_measure();
    for (uint32_t i = 0; i < live_count; i++) {
        live[i] = object_make(&a, size);
    }
    live_sample(&a, 1);
    replace(&a, values[0] / 5);
    double start = cpu_begin();
    replace(&a, values[0]);
    double seconds = cpu_end(start);
    for (uint32_t i = 0; i < live_count; i++) {
        object_drop(&a, live[i]);
    }
    report(values[0], seconds, &a, 1, NULL, 0);
    return 0;
}
