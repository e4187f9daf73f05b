// threads: threads come and go, a few at a time. Each allocates and frees a little, and leaves one object that the main
// thread frees after it has gone. An operation is the life of one thread.

#include "pattern.h"

enum {
    TOGETHER = 4,
    OBJECTS = 50,
};

#define PARAMETERS(X) X(lives, 0, ANY) SIZES(X)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[TOGETHER + 1]; // the last is the main thread
static void *left[TOGETHER];

static void *work(void *argument)
{
    actor *a = argument;
    void *live[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) {
        live[i] = object_make(a, low_between(random_next(a), min, max));
    }
    for (unsigned i = 1; i < OBJECTS; i++) {
        object_drop(a, live[i]);
    }
    left[a->index] = live[0];
    return NULL;
}

static void come_and_go(uint64_t threads)
{
    for (uint64_t i = 0; i < threads; i += TOGETHER) {
        threads_start(actors, TOGETHER, work);
        threads_join(actors, TOGETHER);
        live_sample(actors, TOGETHER + 1);
        for (unsigned t = 0; t < TOGETHER; t++) {
            object_drop(&actors[TOGETHER], left[t]);
        }
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    for (unsigned i = 0; i <= TOGETHER; i++) {
        actor_init(&actors[i], i);
    }
    uint64_t threads = ((uint64_t)lives + TOGETHER - 1) / TOGETHER * TOGETHER;
    base_measure();
    come_and_go(TOGETHER); // the stacks are there
    double start = wall_begin();
    come_and_go(threads);
    report(threads, wall_end(start), actors, TOGETHER + 1, NULL, 0);
    return 0;
}
