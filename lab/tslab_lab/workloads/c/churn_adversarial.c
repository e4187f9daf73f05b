// churn-adversarial: bulk in, bulk out, and every time of a size far from the last one, in another order: what an
// allocator has kept at hand of one phase is of no use in the next.

#include "pattern.h"

enum { SIZES = 14, ORDERS = 3 };

#define PARAMETERS(X) X(operations, 0, ANY) X(objects, 1, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static const uint32_t sizes[SIZES] = { 16, 2048, 96, 512, 4096, 48, 1024, 24, 8192, 256, 32, 768, 128, 1536 };
static void **live;

// In order, in reverse, and every second one first.
static uint32_t place_of(uint32_t i, unsigned order)
{
    if (order == 0) {
        return i;
    }
    uint32_t half = (objects + 1) / 2;
    return order == 1 ? objects - 1 - i : i < half ? 2 * i : 2 * (i - half) + 1;
}

static void phases(actor *a, uint64_t times)
{
    for (uint64_t phase = 0; phase < times; phase++) {
        for (uint32_t i = 0; i < objects; i++) {
            live[i] = object_make(a, sizes[phase % SIZES]);
        }
        live_sample(a, 1);
        for (uint32_t i = 0; i < objects; i++) {
            object_drop(a, live[place_of(i, phase % ORDERS)]);
        }
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    uint64_t times = operations / objects + 1;
    static actor a;
    actor_init(&a, 0);
    live = table_map(objects * sizeof *live);
    base_measure();
    phases(&a, SIZES);
    double start = cpu_begin();
    phases(&a, times);
    double seconds = cpu_end(start);
    report(times * objects, seconds, &a, 1, NULL, 0);
    return 0;
}
