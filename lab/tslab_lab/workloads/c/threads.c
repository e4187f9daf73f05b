// threads: threads come and go, a few at a time. Each allocates and frees a little, and leaves one object that the main
// thread frees after it has gone. An operation is the life of one thread.

#include "pattern.h"

enum {
    TOGETHER = 4,
    OBJECTS = 50,
};

static actor actors[TOGETHER + 1]; // the last is the main thread
static void *left[TOGETHER];
static uint32_t sizes[2];

static void *work(void *argument)
{
    actor *a = argument;
    void *live[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) {
        live[i] = object_make(a, low_between(random_next(a), sizes[0], sizes[1]));
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
    uint64_t values[3];
    arguments_read(count, words, "THREADS LEAST MOST", values, 3);
    sizes[0] = (uint32_t)values[1];
    sizes[1] = (uint32_t)values[2];
    sizes_check(sizes[0], sizes[1]);
    for (unsigned i = 0; i <= TOGETHER; i++) {
        actor_init(&actors[i], i);
    }
    uint64_t threads = (values[0] + TOGETHER - 1) / TOGETHER * TOGETHER;
    base_measure();
    come_and_go(TOGETHER); // the stacks are there
    double start = wall_begin();
    come_and_go(threads);
    report(threads, wall_end(start), actors, TOGETHER + 1, NULL, 0);
    return 0;
}
