// scopes: requests, each of which allocates a few hundred small objects and frees all of them at its end.

#include "crew.h"

enum { SAMPLE_INTERVAL = 64 }; // requests between two counts of what is live

#define PARAMETERS(X) X(requests, 0, ANY) X(thread_count, 1, THREADS_MOST) X(objects, 1, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST];

// Many small ones, some buffers: about 230 bytes on average.
static uint32_t size_next(actor *a)
{
    uint64_t random = random_next(a);
    uint32_t percent = high_below(random, 100);
    if (percent < 60) {
        return low_between(random, 16, 128);
    }
    return percent < 90 ? low_between(random, 129, 512) : low_between(random, 513, 1312);
}

static void serve(actor *a, uint64_t times)
{
    void **own = tables[a->index];
    for (uint64_t request = 0; request < times; request++) {
        for (uint32_t i = 0; i < objects; i++) {
            own[i] = object_make(a, size_next(a));
        }
        if (a->index == 0 && request % SAMPLE_INTERVAL == 0) {
            live_sample(actors, thread_count);
        }
        for (uint32_t i = 0; i < objects; i++) {
            object_drop(a, own[i]);
        }
    }
}

static void prepare(actor *a)
{
    serve(a, requests / 10 + 1);
}

static void work(actor *a)
{
    serve(a, requests);
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    requests = requests / thread_count + 1;
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        tables[i] = table_map(objects * sizeof *tables[i]);
    }
    base_measure();
    double seconds = crew_run(actors, thread_count, (crew_parts){ prepare, work, NULL });
    report((uint64_t)requests * thread_count * objects, seconds, actors, thread_count, NULL, 0);
    return 0;
}
