/* The scenarios: a start state, a script for each thread, and how many preemptions are tried: in the quick form, and in
 * the long one. */
#ifndef TSLAB_TESTS_SIM_SCENARIOS_H
#define TSLAB_TESTS_SIM_SCENARIOS_H

#include "scheduler.h"
#include "world.h"

struct scenario {
    const char *group;
    const char *name;
    struct world_start start;
    const char *scripts[THREADS_MAX];
    int quick, full;
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

#endif
