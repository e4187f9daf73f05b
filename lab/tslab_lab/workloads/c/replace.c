// replace: one thread replaces random ones of its live objects by new ones of random size.

#include "replacing.h"

#define PARAMETERS(X) X(operations, 0, ANY) X(live_count, 1, ANY) SIZES(X)
PARAMETERS(PARAMETER_VARIABLE)

static void replace(actor *a, void **live, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(a);
        void **place = &live[high_below(random, live_count)];
        object_drop(a, *place);
        *place = object_make(a, low_between(random, min, max));
    }
}

static void *first_make(actor *a)
{
    return object_make(a, low_between(random_next(a), min, max));
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    uint32_t warm_up = operations / 5 > live_count ? operations / 5 : live_count;
    replacing_run((replacing_parts){ first_make, replace }, live_count, warm_up, operations);
    return 0;
}
