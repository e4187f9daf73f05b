// resting: threads that had a burst of many sizes, freed all of it, and rest, as a pool of workers does. Then another
// thread replaces random objects beside them. An operation is one object that it replaces. What such a
// thread weighs is reported, right after its burst and when it has rested.

#include "many.h"

enum {
    RESTING_MOST = 1000,
    BURST_SIZES = 44,       // from 16 bytes to 32 KiB, four to each doubling
    BURST_BYTES = 64 << 10, // of each size, and no more than
    BURST_MOST = 600,       // objects
};

#define PARAMETERS(X) X(operations, 1, ANY) X(threads, 1, RESTING_MOST) X(rest_ms, 0, ANY) X(live, 1, ANY) SIZES(X)
PARAMETERS(PARAMETER_VARIABLE)

static actor *actors;
static pthread_barrier_t everybody;

static void *burst_and_rest(void *argument)
{
    actor *a = argument;
    void *own[BURST_MOST];
    for (unsigned i = 0; i < BURST_SIZES; i++) {
        unsigned count = BURST_BYTES / many_size(i) < BURST_MOST ? BURST_BYTES / many_size(i) : BURST_MOST;
        for (unsigned j = 0; j < count; j++) {
            own[j] = object_make(a, many_size(i));
        }
        for (unsigned j = 0; j < count; j++) {
            object_drop(a, own[j]);
        }
    }
    pthread_barrier_wait(&everybody); // the burst is over
    pthread_barrier_wait(&everybody); // at rest until this
    return NULL;
}

static double replace_all(actor *a, void **slots)
{
    for (uint32_t i = 0; i < live; i++) {
        slots[i] = object_make(a, low_between(random_next(a), min, max));
    }
    double start = cpu_begin();
    for (uint32_t i = 0; i < operations; i++) {
        uint64_t random = random_next(a);
        void **slot = &slots[high_below(random, live)];
        object_drop(a, *slot);
        *slot = object_make(a, low_between(random, min, max));
    }
    double seconds = cpu_end(start);
    live_sample(actors, threads + 1);
    for (uint32_t i = 0; i < live; i++) {
        object_drop(a, slots[i]);
    }
    return seconds;
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    pthread_barrier_init(&everybody, NULL, threads + 1);
    actors = table_map((threads + 1) * sizeof *actors);
    void **slots = table_map(live * sizeof *slots);
    for (unsigned i = 0; i <= threads; i++) {
        actor_init(&actors[i], i);
    }
    base_measure();
    long before_kib = rss_kib();
    many_start(actors, threads, burst_and_rest);
    pthread_barrier_wait(&everybody);
    long burst_kib = rss_kib();
    sleep_ms(rest_ms);
    long rested_kib = rss_kib();
    double seconds = replace_all(&actors[threads], slots);
    rss_measure();
    pthread_barrier_wait(&everybody);
    threads_join(actors, threads);

    fact facts[] = { { "burst_kib", (double)(burst_kib - before_kib) / threads },
                     { "rested_kib", (double)(rested_kib - before_kib) / threads } };
    report(operations, seconds, actors, threads + 1, facts, 2);
    return 0;
}
