// sharing: false sharing. Passive: in turns one thread allocates small objects and deals them out, neighbours to
// different threads; each thread frees what it was handed, allocates as much anew, and writes it many times. Where an
// allocator lets threads adopt each other's memory piece by piece, they now write to the same cache lines. Active: all
// threads allocate at the same time, nothing is dealt out. An operation is one write of one thread. The share of cache
// lines that two threads wrote is reported, too.

#include "pattern.h"

enum {
    OBJECTS = 32,  // of each thread in each round
    WRITES = 2000, // of each object: an even number, after which it is as it was
    LINE = 64,
};

#define PARAMETERS(X)                                                                                                  \
    X(operations, 0, ANY)                                                                                              \
    X(thread_count, 1, THREADS_MOST)                                                                                   \
    X(size, SIZE_LEAST, SIZE_MOST)                                                                                     \
    X(passive, 0, 1)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static pthread_barrier_t everybody;
static void *dealt[THREADS_MOST][OBJECTS];
static uint64_t rounds;
static uint64_t lines;
static uint64_t lines_shared;

static int line_is_in(const void *object, void *const *others)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        if ((uintptr_t)others[i] / LINE == (uintptr_t)object / LINE) {
            return 1;
        }
    }
    return 0;
}

// Counts for each object whether any other thread has one in its line.
static void lines_count(void)
{
    for (unsigned t = 0; t < thread_count; t++) {
        for (unsigned i = 0; i < OBJECTS; i++) {
            int shared = 0;
            for (unsigned other = 0; other < thread_count && !shared; other++) {
                shared = other != t && line_is_in(dealt[t][i], dealt[other]);
            }
            lines++;
            lines_shared += (unsigned)shared;
        }
    }
}

static void deal(actor *a)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        for (unsigned t = 0; t < thread_count; t++) {
            dealt[t][i] = object_make(a, size);
        }
    }
}

static void own_make(actor *a)
{
    void **own = dealt[a->index];
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (passive) {
            object_drop(a, own[i]);
        }
        own[i] = object_make(a, size);
    }
}

// All objects in turn, so that two threads meet in a line wherever each of them is.
static void write_all(const actor *a)
{
    void **own = dealt[a->index];
    for (unsigned w = 0; w < WRITES; w++) {
        for (unsigned i = 0; i < OBJECTS; i++) {
            volatile uint64_t *word = own[i];
            *word = ~*word;
        }
    }
}

static void *work(void *argument)
{
    actor *a = argument;
    for (uint64_t r = 0; r < rounds; r++) {
        if (passive && r % thread_count == a->index) {
            deal(a);
        }
        pthread_barrier_wait(&everybody);
        own_make(a);
        pthread_barrier_wait(&everybody);
        write_all(a);
        pthread_barrier_wait(&everybody);
        if (r % thread_count == a->index) {
            lines_count();
            live_sample(actors, thread_count);
        }
        pthread_barrier_wait(&everybody);
        for (unsigned i = 0; i < OBJECTS; i++) {
            object_drop(a, dealt[a->index][i]);
        }
        pthread_barrier_wait(&everybody);
    }
    return NULL;
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    rounds = operations / (OBJECTS * WRITES) + 1;
    pthread_barrier_init(&everybody, NULL, thread_count);
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
    }
    base_measure();
    double start = wall_begin();
    threads_start(actors, thread_count, work);
    threads_join(actors, thread_count);
    double seconds = wall_end(start);
    fact share = { "shared_lines", (double)lines_shared / (double)lines };
    report(rounds * OBJECTS * WRITES, seconds, actors, thread_count, &share, 1);
    return 0;
}
