// Actors who all do the same: one in the main thread, so that the process has no other, several in a thread each.

#ifndef CREW_H
#define CREW_H

#include "pattern.h"

typedef struct {
    void (*prepare)(actor *a); // the warm-up
    void (*work)(actor *a);
    void (*finish)(actor *a); // may be none
} crew_parts;

static crew_parts crew_now;
static pthread_barrier_t crew_everybody;

static void *crew_thread(void *argument)
{
    actor *a = argument;
    crew_now.prepare(a);
    gate_wait(&crew_everybody); // all are warm: the clock starts
    crew_now.work(a);
    gate_wait(&crew_everybody); // all is done: the clock stops
    if (crew_now.finish != NULL) {
        crew_now.finish(a);
    }
    return NULL;
}

// Says how many seconds the work took: the processor's for one actor, by the wall for several.
static double crew_run(actor *actors, unsigned count, crew_parts parts)
{
    crew_now = parts;
    if (count == 1) {
        parts.prepare(&actors[0]);
        double start = cpu_begin();
        parts.work(&actors[0]);
        double seconds = cpu_end(start);
        if (parts.finish != NULL) {
            parts.finish(&actors[0]);
        }
        return seconds;
    }
    pthread_barrier_init(&crew_everybody, NULL, count + 1);
    threads_start(actors, count, crew_thread);
    double start = gate_begin(&crew_everybody);
    double seconds = gate_end(&crew_everybody, start);
    threads_join(actors, count);
    return seconds;
}

#endif
