// burst-idle: bursts of many objects, all freed, and then nothing for a while, in one thread or in several at the same
// time. What remains in memory at the end of a burst and of the pause behind it is reported, of the first burst and of
// the last.

#include "pattern.h"

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST];
static uint64_t bursts;
static uint32_t objects; // of each thread
static uint32_t sizes[2];
static unsigned thread_count;
static pthread_barrier_t everybody;

static void burst(actor *a)
{
    void **live = tables[a->index];
    for (uint32_t i = 0; i < objects; i++) {
        live[i] = object_make(a, low_between(random_next(a), sizes[0], sizes[1]));
    }
    if (a->index == 0) {
        live_sample(actors, thread_count);
    }
    for (uint32_t i = 0; i < objects; i++) {
        object_drop(a, live[i]);
    }
}

static void *all_bursts(void *argument)
{
    for (uint64_t i = 0; i < bursts; i++) {
        gate_wait(&everybody);
        burst(argument);
        gate_wait(&everybody);
    }
    return NULL;
}

static double burst_seconds(void)
{
    if (thread_count == 1) {
        double start = cpu_begin();
        burst(&actors[0]);
        return cpu_end(start);
    }
    double start = gate_begin(&everybody);
    return gate_end(&everybody, start);
}

int main(int count, char **words)
{
    uint64_t values[6];
    arguments_read(count, words, "BURSTS OBJECTS LEAST MOST IDLE_MS THREADS", values, 6);
    bursts = values[0];
    sizes[0] = (uint32_t)values[2];
    sizes[1] = (uint32_t)values[3];
    sizes_check(sizes[0], sizes[1]);
    threads_check(values[5]);
    thread_count = (unsigned)values[5];
    objects = (uint32_t)values[1] / thread_count;
    require(bursts != 0 && objects != 0, "there must be a burst, and objects in it");

    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        tables[i] = table_map(objects * sizeof *tables[i]);
    }
    base_measure();
    if (thread_count > 1) {
        pthread_barrier_init(&everybody, NULL, thread_count + 1);
        threads_start(actors, thread_count, all_bursts);
    }
    double seconds = 0;
    long first_kib = 0, first_idle_kib = 0, last_kib = 0, last_idle_kib = 0;
    for (uint64_t i = 0; i < bursts; i++) {
        seconds += burst_seconds();
        last_kib = rss_kib();
        sleep_ms(values[4]);
        last_idle_kib = rss_kib();
        if (i == 0) {
            first_kib = last_kib;
            first_idle_kib = last_idle_kib;
        }
    }
    if (thread_count > 1) {
        threads_join(actors, thread_count);
    }
    fact facts[] = { { "burst_first_kib", (double)first_kib },
                     { "idle_first_kib", (double)first_idle_kib },
                     { "burst_last_kib", (double)last_kib },
                     { "idle_last_kib", (double)last_idle_kib } };
    report(bursts * objects * thread_count, seconds, actors, thread_count, facts, 4);
    return 0;
}
