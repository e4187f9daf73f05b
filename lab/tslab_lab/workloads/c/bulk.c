// bulk: one thread allocates many objects, then frees them all in order (0), in reverse (1) or at random (2), and
// again.

#include "pattern.h"

enum { FIFO, LIFO, RANDOM };

#define PARAMETERS(X) X(operations, 0, ANY) X(objects, 1, ANY) SIZES(X) X(kind, FIFO, RANDOM)
PARAMETERS(PARAMETER_VARIABLE)

static void order_fill(actor *a, uint32_t *order)
{
    for (uint32_t i = 0; i < objects; i++) {
        order[i] = kind == LIFO ? objects - 1 - i : i;
    }
    for (uint32_t i = objects - 1; kind == RANDOM && i > 0; i--) {
        uint32_t other = high_below(random_next(a), i + 1);
        uint32_t index = order[i];
        order[i] = order[other];
        order[other] = index;
    }
}

static void in_and_out(actor *a, void **live, const uint32_t *order)
{
    for (uint32_t i = 0; i < objects; i++) {
        live[i] = object_make(a, low_between(random_next(a), min, max));
    }
    for (uint32_t i = 0; i < objects; i++) {
        object_drop(a, live[order[i]]);
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    uint64_t rounds = operations / objects + 1;

    static actor a;
    actor_init(&a, 0);
    void **live = table_map(objects * sizeof *live);
    uint32_t *order = table_map(objects * sizeof *order);
    order_fill(&a, order);
    base_measure();
    for (uint64_t i = 0; i < rounds / 5 + 1; i++) {
        in_and_out(&a, live, order);
    }
    double start = cpu_begin();
    for (uint64_t i = 0; i < rounds; i++) {
        in_and_out(&a, live, order);
    }
    double seconds = cpu_end(start);
    live_bytes_most = (int64_t)objects * (min + max) / 2;
    report(rounds * objects, seconds, &a, 1, NULL, 0);
    return 0;
}
