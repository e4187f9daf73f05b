// handoff: makers allocate, and one thread that allocates nothing frees. Each maker keeps its latest objects (WINDOW)
// and hands over the oldest, so that what is live stays the same. One maker without a window is a producer, and the
// freer its consumer.

#include "ring.h"

enum {
    SAMPLE_INTERVAL = 1024, // frees between two counts of what is live
};

#define PARAMETERS(X)                                                                                                  \
    X(operations, 0, ANY)                                                                                              \
    X(maker_count, 1, THREADS_MOST)                                                                                    \
    X(window, 0, ANY)                                                                                                  \
    SIZES(X)                                                                                                           \
    X(ring_size, 1, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST + 1]; // the last is the freer
static ring rings[THREADS_MOST];
static void **tables[THREADS_MOST];
static pthread_barrier_t everybody;

static void hand_over(ring *out, void *object)
{
    while (!ring_put(out, object)) {
        sched_yield();
    }
}

static void make_and_hand_over(actor *a, uint64_t times)
{
    void **kept = tables[a->index];
    uint32_t place = 0;
    for (uint64_t i = 0; i < times; i++) {
        void *object = object_make(a, low_between(random_next(a), min, max));
        if (window != 0) {
            void *oldest = kept[place];
            kept[place] = object;
            object = oldest;
            place = place + 1 == window ? 0 : place + 1;
        }
        hand_over(&rings[a->index], object);
    }
}

// The objects that come round by round from all makers.
static void take_and_free(actor *a, uint64_t times)
{
    uint64_t done = 0;
    while (done < times) {
        uint64_t before = done;
        for (unsigned i = 0; i < maker_count; i++) {
            void *object = ring_take(&rings[i]);
            if (object != NULL) {
                if (done % SAMPLE_INTERVAL == 0) {
                    live_sample(actors, maker_count + 1);
                }
                object_drop(a, object);
                done++;
            }
        }
        if (done == before) {
            sched_yield();
        }
    }
}

static void *work(void *argument)
{
    actor *a = argument;
    int frees = a->index == maker_count;
    for (uint32_t i = 0; !frees && i < window; i++) {
        tables[a->index][i] = object_make(a, low_between(random_next(a), min, max));
    }
    uint64_t parts[2] = { operations / 10, operations };
    for (unsigned i = 0; i < 2; i++) {
        if (frees) {
            take_and_free(a, parts[i] * maker_count);
        } else {
            make_and_hand_over(a, parts[i]);
        }
        gate_wait(&everybody); // all are warm, the clock starts; all is freed, the clock stops
    }
    for (uint32_t i = 0; !frees && i < window; i++) {
        object_drop(a, tables[a->index][i]);
    }
    return NULL;
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    operations /= maker_count;
    unsigned thread_count = maker_count + 1;
    pthread_barrier_init(&everybody, NULL, thread_count + 1);
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
    }
    for (unsigned i = 0; i < maker_count; i++) {
        ring_init(&rings[i], ring_size);
        tables[i] = table_map((window + 1) * sizeof *tables[i]);
    }
    base_measure();
    threads_start(actors, thread_count, work);
    double start = gate_begin(&everybody);
    double seconds = gate_end(&everybody, start);
    threads_join(actors, thread_count);
    report((uint64_t)operations * maker_count, seconds, actors, thread_count, NULL, 0);
    return 0;
}
