// remote: threads replace random ones of their live objects, and hand a share of them to the next thread, which frees
// them. Where its ring is full, the thread frees the object itself: the share that was freed by another is reported.
// Each takes at most twice as many objects from its ring as it replaces meanwhile: so who is behind catches up, but
// goes on replacing, and the share stays near what was asked for, however fast the allocator is at one side or the
// other. Each byte of an object is written, or only its ends.

#include "ring.h"

enum {
    LOOK_INTERVAL = 16,     // replacements between two looks into the own ring,
    TAKE_MOST = 32,         // and what is taken out of it at most each time
    SAMPLE_INTERVAL = 1024, // and between two counts of what is live
};

#define PARAMETERS(X)                                                                                                  \
    X(operations, 0, ANY)                                                                                              \
    X(thread_count, 1, THREADS_MOST)                                                                                   \
    X(remote_percent, 0, 100)                                                                                          \
    X(live_count, 1, ANY)                                                                                              \
    SIZES(X)                                                                                                           \
    X(ring_size, 1, ANY)                                                                                               \
    X(all_is_written, 0, 1)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static ring rings[THREADS_MOST];
static void **tables[THREADS_MOST];
static pthread_barrier_t everybody;

static void *make(actor *a, uint64_t random)
{
    uint32_t size = low_between(random, min, max);
    void *object = timed_malloc(a, size);
    if (all_is_written) {
        memset(object, (int)size, size);
    }
    object_mark(a, object, size);
    return object;
}

static void drain(actor *a, uint32_t most)
{
    void *object;
    while (most-- > 0 && (object = ring_take(&rings[a->index])) != NULL) {
        object_drop(a, object);
        a->remote_frees++;
    }
}

static void replace(actor *a, void **live, ring *out, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(a);
        void **place = &live[high_below(random, live_count)];
        int remote = high_below(random_next(a), 100) < remote_percent;
        if (!remote || !ring_put(out, *place)) {
            object_drop(a, *place);
            a->local_frees++;
        }
        *place = make(a, random);
        if (i % LOOK_INTERVAL == 0) {
            drain(a, TAKE_MOST);
        }
        if (a->index == 0 && i % SAMPLE_INTERVAL == 0) {
            live_sample(actors, thread_count);
        }
    }
}

static void *work(void *argument)
{
    actor *a = argument;
    void **live = tables[a->index];
    ring *out = &rings[(a->index + 1) % thread_count];
    for (uint32_t i = 0; i < live_count; i++) {
        live[i] = make(a, random_next(a));
    }
    replace(a, live, out, operations / 10);
    a->local_frees = 0;
    a->remote_frees = 0;
    gate_wait(&everybody); // all are warm: the clock starts
    replace(a, live, out, operations);
    pthread_barrier_wait(&everybody); // all have replaced: nothing more is handed over
    drain(a, UINT32_MAX);
    gate_wait(&everybody); // all has been freed: the clock stops
    for (uint32_t i = 0; i < live_count; i++) {
        object_drop(a, live[i]);
    }
    return NULL;
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    operations /= thread_count;
    pthread_barrier_init(&everybody, NULL, thread_count + 1);
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        ring_init(&rings[i], ring_size);
        tables[i] = table_map(live_count * sizeof *tables[i]);
    }
    base_measure();
    threads_start(actors, thread_count, work);
    double start = gate_begin(&everybody);
    pthread_barrier_wait(&everybody);
    double seconds = gate_end(&everybody, start);
    threads_join(actors, thread_count);

    uint64_t local = 0;
    uint64_t remote = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        local += actors[i].local_frees;
        remote += actors[i].remote_frees;
    }
    fact share = { "remote_share", (double)remote / (double)(local + remote) };
    report((uint64_t)operations * thread_count, seconds, actors, thread_count, &share, 1);
    return 0;
}
