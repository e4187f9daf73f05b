// bulk: one thread allocates many objects, then frees them all in order (0), in reverse (1) or at random (2), and
// again.

#include "pattern.h"

enum { FIFO, LIFO, RANDOM, ORDERS };

static void order_fill(actor *a, uint32_t *order, uint32_t objects, uint64_t kind)
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

static void in_and_out(actor *a, void **live, const uint32_t *order, uint32_t objects, const uint32_t *sizes)
{
    for (uint32_t i = 0; i < objects; i++) {
        live[i] = object_make(a, low_between(random_next(a), sizes[0], sizes[1]));
    }
    for (uint32_t i = 0; i < objects; i++) {
        object_drop(a, live[order[i]]);
    }
}

int main(int count, char **words)
{
    uint64_t values[5];
    arguments_read(count, words, "OPERATIONS OBJECTS LEAST MOST ORDER", values, 5);
    uint32_t objects = (uint32_t)values[1];
    uint32_t sizes[2] = { (uint32_t)values[2], (uint32_t)values[3] };
    sizes_check(sizes[0], sizes[1]);
    require(objects != 0 && values[4] < ORDERS, "there must be objects, and the order must be 0, 1 or 2");
    uint64_t rounds = values[0] / objects + 1;

    static actor a;
    actor_init(&a, 0);
    void **live = table_map(objects * sizeof *live);
    uint32_t *order = table_map(objects * sizeof *order);
    order_fill(&a, order, objects, values[4]);
    base_measure();
    for (uint64_t i = 0; i < rounds / 5 + 1; i++) {
        in_and_out(&a, live, order, objects, sizes);
    }
    double start = cpu_begin();
    for (uint64_t i = 0; i < rounds; i++) {
        in_and_out(&a, live, order, objects, sizes);
    }
    double seconds = cpu_end(start);
    live_bytes_most = (int64_t)objects * (sizes[0] + sizes[1]) / 2;
    report(rounds * objects, seconds, &a, 1, NULL, 0);
    return 0;
}
