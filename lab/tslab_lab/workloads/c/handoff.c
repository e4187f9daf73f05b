// handoff: makers allocate, and one thread that allocates nothing frees. Each maker keeps its latest objects (WINDOW)
// and hands over the oldest, so that what is live stays the same. One maker without a window is a producer, and the
// freer its consumer.

#include "ring.h"

enum {
    SAMPLE_INTERVAL = 1024, // frees between two counts of what is live
};

static actor actors[THREADS_MOST + 1]; // the last is the freer
static ring rings[THREADS_MOST];
static void **tables[THREADS_MOST];
static pthread_barrier_t everybody;
static uint64_t operations;
static unsigned maker_count;
static uint32_t window;
static uint32_t sizes[2];

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
        void *object = object_make(a, low_between(random_next(a), sizes[0], sizes[1]));
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
        tables[a->index][i] = object_make(a, low_between(random_next(a), sizes[0], sizes[1]));
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
    uint64_t values[6];
    arguments_read(count, words, "OPERATIONS MAKERS WINDOW LEAST MOST RING", values, 6);
    maker_count = (unsigned)values[1];
    window = (uint32_t)values[2];
    sizes[0] = (uint32_t)values[3];
    sizes[1] = (uint32_t)values[4];
    sizes_check(sizes[0], sizes[1]);
    threads_check(values[1]);
    operations = values[0] / maker_count;

    unsigned thread_count = maker_count + 1;
    pthread_barrier_init(&everybody, NULL, thread_count + 1);
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
    }
    for (unsigned i = 0; i < maker_count; i++) {
        ring_init(&rings[i], values[5]);
        tables[i] = table_map((window + 1) * sizeof *tables[i]);
    }
    base_measure();
    threads_start(actors, thread_count, work);
    double start = gate_begin(&everybody);
    double seconds = gate_end(&everybody, start);
    threads_join(actors, thread_count);
    report(operations * maker_count, seconds, actors, thread_count, NULL, 0);
    return 0;
}
