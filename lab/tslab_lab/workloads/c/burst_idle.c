// burst-idle: bursts of many objects, all freed, and then nothing for a while. What remains in memory at the end of a
// burst and of the pause behind it is reported, of the first burst and of the last.

#include "pattern.h"

int main(int count, char **words)
{
    uint64_t values[5];
    arguments_read(count, words, "BURSTS OBJECTS LEAST MOST IDLE_MS", values, 5);
    uint32_t objects = (uint32_t)values[1];
    uint32_t sizes[2] = { (uint32_t)values[2], (uint32_t)values[3] };
    sizes_check(sizes[0], sizes[1]);
    require(values[0] != 0 && objects != 0, "there must be a burst, and objects in it");

    static actor a;
    actor_init(&a, 0);
    void **live = table_map(objects * sizeof *live);
    base_measure();
    double seconds = 0;
    long first_kib = 0, first_idle_kib = 0, last_kib = 0, last_idle_kib = 0;
    for (uint64_t burst = 0; burst < values[0]; burst++) {
        double start = cpu_begin();
        for (uint32_t i = 0; i < objects; i++) {
            live[i] = object_make(&a, low_between(random_next(&a), sizes[0], sizes[1]));
        }
        live_sample(&a, 1);
        for (uint32_t i = 0; i < objects; i++) {
            object_drop(&a, live[i]);
        }
        seconds += cpu_end(start);
        last_kib = rss_kib();
        sleep_ms(values[4]);
        last_idle_kib = rss_kib();
        if (burst == 0) {
            first_kib = last_kib;
            first_idle_kib = last_idle_kib;
        }
    }
    fact facts[] = { { "burst_first_kib", (double)first_kib },
                     { "idle_first_kib", (double)first_idle_kib },
                     { "burst_last_kib", (double)last_kib },
                     { "idle_last_kib", (double)last_idle_kib } };
    report(values[0] * objects, seconds, &a, 1, facts, 4);
    return 0;
}
