// burst-idle: bursts of many objects, all freed, and then nothing for a while, in one thread or in several at the same
// time. What remains in memory at the end of a burst and of the pause behind it is reported, of the first burst and of
// the last; and how long after the last one it is gone.

#include "pattern.h"

#define PARAMETERS(X)                                                                                                  \
    X(bursts, 1, ANY)                                                                                                  \
    X(objects, 1, ANY)                                                                                                 \
    SIZES(X)                                                                                                           \
    X(idle_ms, 0, ANY)                                                                                                 \
    X(thread_count, 1, THREADS_MOST)                                                                                   \
    X(watch_ms, 0, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST];
static pthread_barrier_t everybody;

enum { LOOK_MS = 2 };

static void burst(actor *a)
{
    void **live = tables[a->index];
    for (uint32_t i = 0; i < objects; i++) {
        live[i] = object_make(a, low_between(random_next(a), min, max));
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

// How long it takes, with nothing done, until no more is left than the bare process and a tenth of a burst's bytes;
// `most_ms` where that takes longer.
static double return_ms(uint64_t most_ms)
{
    long burst_kib = (long)(live_bytes_most / 1024);
    double start = wall_seconds();
    double passed = 0;
    while ((rss_kib() - base_kib) * 10 > burst_kib && passed < (double)most_ms) {
        sleep_ms(LOOK_MS);
        passed = (wall_seconds() - start) * 1000;
    }
    return passed < (double)most_ms ? passed : (double)most_ms;
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    objects /= thread_count; // of each
    require(min <= max && objects != 0, "min must be no more than max, and each thread must have objects");
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
        sleep_ms(idle_ms);
        last_idle_kib = rss_kib();
        if (i == 0) {
            first_kib = last_kib;
            first_idle_kib = last_idle_kib;
        }
    }
    double returned_ms = return_ms(watch_ms);
    if (thread_count > 1) {
        threads_join(actors, thread_count);
    }
    fact facts[] = { { "burst_first_kib", (double)first_kib },
                     { "idle_first_kib", (double)first_idle_kib },
                     { "burst_last_kib", (double)last_kib },
                     { "idle_last_kib", (double)last_idle_kib },
                     { "return_ms", returned_ms + (double)idle_ms } };
    report((uint64_t)bursts * objects * thread_count, seconds, actors, thread_count, facts, 5);
    return 0;
}
