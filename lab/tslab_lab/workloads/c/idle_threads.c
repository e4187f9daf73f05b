// idle-threads: very many threads. Each has allocated a little of many sizes and freed half of it, and now does
// nothing: what a thread weighs is reported, and how much of it is there before the first object. An operation is one
// object.

#include "many.h"

enum {
    IDLE_MOST = 4000,
    SIZES = 25, // from 16 to 1,024 bytes, four to each doubling
};

#define PARAMETERS(X) X(threads, 1, IDLE_MOST) X(each, 1, 1000)
PARAMETERS(PARAMETER_VARIABLE)

static actor *actors;
static void ***tables;
static pthread_barrier_t everybody;

static void *work(void *argument)
{
    actor *a = argument;
    void **own = tables[a->index];
    pthread_barrier_wait(&everybody); // all have started, and are weighed
    gate_wait(&everybody);            // the clock starts
    for (uint32_t i = 0; i < SIZES * each; i++) {
        own[i] = object_make(a, many_size(i % SIZES));
    }
    for (uint32_t i = 0; i < SIZES * each; i += 2) {
        object_drop(a, own[i]);
    }
    gate_wait(&everybody);            // the clock stops
    pthread_barrier_wait(&everybody); // idle until this
    for (uint32_t i = 1; i < SIZES * each; i += 2) {
        object_drop(a, own[i]);
    }
    return NULL;
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    pthread_barrier_init(&everybody, NULL, threads + 1);
    actors = table_map(threads * sizeof *actors);
    tables = table_map(threads * sizeof *tables);
    for (unsigned i = 0; i < threads; i++) {
        actor_init(&actors[i], i);
        actors[i].serial = (uint64_t)i * SIZES * each; // so many actors have fewer serials each
        tables[i] = table_map(SIZES * each * sizeof *tables[i]);
    }
    base_measure();
    long before_kib = rss_kib();
    many_start(actors, threads, work);
    pthread_barrier_wait(&everybody);
    long started_kib = rss_kib();
    double start = gate_begin(&everybody);
    double seconds = gate_end(&everybody, start);
    live_sample(actors, threads);
    rss_measure();
    pthread_barrier_wait(&everybody);
    threads_join(actors, threads);

    fact facts[] = { { "thread_kib", (double)(weight_after.rss_kib - before_kib) / threads },
                     { "thread_started_kib", (double)(started_kib - before_kib) / threads } };
    report((uint64_t)threads * SIZES * each, seconds, actors, threads, facts, 2);
    return 0;
}
