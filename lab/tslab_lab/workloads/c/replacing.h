// One thread replaces random ones of its live objects by new ones. A workload brings how an object is made and the loop
// itself, so that nothing stands between the calls that are measured.

#ifndef REPLACING_H
#define REPLACING_H

#include "pattern.h"

typedef struct {
    void *(*make)(actor *a);
    void (*replace)(actor *a, void **live, uint64_t times);
} replacing_parts;

// Fills the places, warms up, replaces, drops all, and reports.
static inline void replacing_run(replacing_parts parts, uint32_t live_count, uint64_t warm_up, uint64_t operations)
{
    static actor a;
    actor_init(&a, 0);
    void **live = table_map(live_count * sizeof *live);
    base_measure();
    for (uint32_t i = 0; i < live_count; i++) {
        live[i] = parts.make(&a);
    }
    parts.replace(&a, live, warm_up);
    live_sample(&a, 1);
    double start = cpu_begin();
    parts.replace(&a, live, operations);
    double seconds = cpu_end(start);
    live_sample(&a, 1);
    for (uint32_t i = 0; i < live_count; i++) {
        object_drop(&a, live[i]);
    }
    report(operations, seconds, &a, 1, NULL, 0);
}

#endif
