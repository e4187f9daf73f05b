// churn-fixed: threads replace objects of one size, each among many live ones of its own. A share of those that it
// frees are among the latest that it allocated, the others are any.

#include "crew.h"

enum { LATEST = 64 };

#define PARAMETERS(X)                                                                                                  \
    X(operations, 0, ANY)                                                                                              \
    X(live_count, 1, ANY)                                                                                              \
    X(size, SIZE_LEAST, SIZE_MOST)                                                                                     \
    X(locality_percent, 0, 100)                                                                                        \
    X(thread_count, 1, THREADS_MOST)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST];

static void replace(actor *a, uint64_t times)
{
    void **live = tables[a->index];
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

static void prepare(actor *a)
{
    for (uint32_t i = 0; i < live_count; i++) {
        tables[a->index][i] = object_make(a, size);
    }
    replace(a, operations / 5);
}

static void work(actor *a)
{
    if (a->index == 0) {
        live_sample(actors, thread_count); // all are warm: as many as there ever are
    }
    replace(a, operations);
}

static void finish(actor *a)
{
    for (uint32_t i = 0; i < live_count; i++) {
        object_drop(a, tables[a->index][i]);
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    operations /= thread_count;
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        tables[i] = table_map(live_count * sizeof *tables[i]);
    }
    base_measure();
    double seconds = crew_run(actors, thread_count, (crew_parts){ prepare, work, finish });
    report((uint64_t)operations * thread_count, seconds, actors, thread_count, NULL, 0);
    return 0;
}
