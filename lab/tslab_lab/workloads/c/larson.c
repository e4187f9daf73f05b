// larson: a server whose threads live for a while only, after Larson and Krishnan's benchmark. Each thread replaces
// random ones of its objects, then starts a new thread, which takes all of them over, and ends: so most of what a
// thread frees first was allocated by threads that are gone. The share of such frees is reported.

#include "pattern.h"

#include <semaphore.h>

#define PARAMETERS(X)                                                                                                  \
    X(operations, 0, ANY)                                                                                              \
    X(thread_count, 1, THREADS_MOST)                                                                                   \
    X(slot_count, 1, ANY)                                                                                              \
    SIZES(X)                                                                                                           \
    X(generations, 1, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST];
static unsigned generations_left[THREADS_MOST];
static pthread_attr_t detached;
static sem_t chains_done;
static uint64_t part; // operations of one thread's life

static int is_inherited(const void *object, uint64_t first_serial)
{
    uint64_t head;
    memcpy(&head, object, sizeof head);
    return head >> SIZE_BITS <= first_serial;
}

static void *work(void *argument)
{
    actor *a = argument;
    void **slots = tables[a->index];
    uint64_t first_serial = a->serial;
    for (uint64_t i = 0; i < part; i++) {
        uint64_t random = random_next(a);
        void **place = &slots[high_below(random, slot_count)];
        if (is_inherited(*place, first_serial)) {
            a->remote_frees++;
        } else {
            a->local_frees++;
        }
        object_drop(a, *place);
        *place = object_make(a, low_between(random, min, max));
    }
    pthread_t next;
    if (--generations_left[a->index] == 0) {
        sem_post(&chains_done);
    } else if (pthread_create(&next, &detached, work, a) != 0) {
        fail("cannot start a thread");
    }
    return NULL;
}

static void run_chains(void)
{
    pthread_t first;
    for (unsigned i = 0; i < thread_count; i++) {
        if (pthread_create(&first, &detached, work, &actors[i]) != 0) {
            fail("cannot start a thread");
        }
    }
    for (unsigned i = 0; i < thread_count; i++) {
        while (sem_wait(&chains_done) != 0) {
        }
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    part = operations / thread_count / generations + 1;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sem_init(&chains_done, 0, 0);
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        tables[i] = table_map(slot_count * sizeof *tables[i]);
        generations_left[i] = generations;
    }
    base_measure();
    for (unsigned i = 0; i < thread_count; i++) {
        for (uint32_t slot = 0; slot < slot_count; slot++) {
            tables[i][slot] = object_make(&actors[i], low_between(random_next(&actors[i]), min, max));
        }
    }
    double start = wall_begin();
    run_chains();
    double seconds = wall_end(start);
    live_sample(actors, thread_count);

    uint64_t local = 0;
    uint64_t inherited = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        for (uint32_t slot = 0; slot < slot_count; slot++) {
            object_drop(&actors[i], tables[i][slot]);
        }
        local += actors[i].local_frees;
        inherited += actors[i].remote_frees;
    }
    fact facts[] = { { "inherited_share", (double)inherited / (double)(local + inherited) },
                     { "threads_started", (double)thread_count * generations } };
    report(part * generations * thread_count, seconds, actors, thread_count, facts, 2);
    return 0;
}
