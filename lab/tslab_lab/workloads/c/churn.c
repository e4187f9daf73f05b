// churn: threads that replace random objects all the time, and hand a share of them to the next thread, which frees
// them. It knows nothing of any allocator: run it under LD_PRELOAD to measure one. Every object carries a mark in its
// first and last bytes, and is checked when it is freed. At the end everything is freed and the threads are joined;
// after a second of rest one line of JSON says what was done, how fast, and how much memory the process used.
//
//   churn [replacements per thread in thousands] [remote frees in percent] [threads] [live objects per thread]

#include "self.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SIZE_MIN = 16,
    SIZE_MAX_BYTES = 2048,
    RING_SLOTS = 1024, // a power of two; small, so that what is in transit does not decide the peak
    THREADS_MAX = 256,
    POLL_INTERVAL = 16, // replacements between two looks into the own ring
};

typedef struct {
    unsigned char *start;
    uint32_t size;
    uint32_t serial; // tells two objects of one size at one address apart
} object;

// One producer (the thread before) and one consumer (the thread itself).
typedef struct {
    _Alignas(64) _Atomic uint32_t head; // next to take
    _Alignas(64) _Atomic uint32_t tail; // next to put
    _Alignas(64) object slots[RING_SLOTS];
} ring;

typedef struct {
    pthread_t thread;
    uint64_t random;
    uint64_t local_frees;
    uint64_t remote_frees;
    ring *in;
    ring *out;
    object *live;
} worker;

static uint64_t replacements = 2500 * 1000;
static uint64_t remote_percent = 25;
static uint64_t thread_count = 4;
static uint64_t live_count = 8192;
static pthread_barrier_t everybody;
static _Atomic uint64_t working; // threads that may still hand over objects

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "churn: %s\n", what);
    abort();
}

static uint32_t random_below(worker *w, uint32_t bound)
{
    return high_below(random_step(&w->random), bound);
}

static uint64_t mark_of(object o)
{
    return (uint64_t)(uintptr_t)o.start * UINT64_C(0x9E3779B97F4A7C15) + ((uint64_t)o.serial << 32 | o.size);
}

static object object_make(worker *w)
{
    object o = { .size = SIZE_MIN + random_below(w, SIZE_MAX_BYTES - SIZE_MIN + 1), .serial = (uint32_t)w->random };
    o.start = malloc(o.size);
    if (o.start == NULL) {
        fail("malloc returned NULL");
    }
    uint64_t mark = mark_of(o);
    memcpy(o.start, &mark, sizeof mark);
    memcpy(o.start + o.size - sizeof mark, &mark, sizeof mark);
    return o;
}

static void object_drop(object o)
{
    uint64_t mark = mark_of(o);
    if (memcmp(o.start, &mark, sizeof mark) != 0 || memcmp(o.start + o.size - sizeof mark, &mark, sizeof mark) != 0) {
        fail("an object was damaged while it was alive");
    }
    free(o.start);
}

static int ring_put(ring *r, object o)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&r->head, memory_order_acquire) == RING_SLOTS) {
        return 0;
    }
    r->slots[tail % RING_SLOTS] = o;
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
    return 1;
}

// Frees what the thread before has handed over.
static void drain(worker *w)
{
    uint32_t head = atomic_load_explicit(&w->in->head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&w->in->tail, memory_order_acquire);
    for (; head != tail; head++) {
        object_drop(w->in->slots[head % RING_SLOTS]);
        atomic_store_explicit(&w->in->head, head + 1, memory_order_release);
        w->remote_frees++;
    }
}

// Waits while the next thread does not keep up, so that a fast allocator has the same share of remote frees as a slow
// one. Everybody drains while waiting, also when done with the own work: a circle of full rings cannot stand still.
static void hand_over(worker *w, object o)
{
    while (!ring_put(w->out, o)) {
        drain(w);
        sched_yield();
    }
}

static void replace_one(worker *w)
{
    object *place = &w->live[random_below(w, (uint32_t)live_count)];
    if (random_below(w, 100) < remote_percent) {
        hand_over(w, *place);
    } else {
        object_drop(*place);
        w->local_frees++;
    }
    *place = object_make(w);
}

static void *work(void *argument)
{
    worker *w = argument;
    for (uint64_t i = 0; i < live_count; i++) {
        w->live[i] = object_make(w);
    }
    pthread_barrier_wait(&everybody); // all have filled: the clock starts
    for (uint64_t i = 0; i < replacements; i++) {
        replace_one(w);
        if (i % POLL_INTERVAL == 0) {
            drain(w);
        }
    }
    atomic_fetch_sub_explicit(&working, 1, memory_order_release);
    while (atomic_load_explicit(&working, memory_order_acquire) != 0) {
        drain(w);
        sched_yield();
    }
    pthread_barrier_wait(&everybody); // all have replaced: the clock stops, and nothing more is handed over
    drain(w);
    for (uint64_t i = 0; i < live_count; i++) {
        object_drop(w->live[i]);
    }
    return NULL;
}

static uint64_t number_argument(char **arguments, int count, int index, uint64_t fallback, uint64_t largest)
{
    if (index >= count) {
        return fallback;
    }
    char *end;
    errno = 0;
    uint64_t value = strtoull(arguments[index], &end, 10);
    if (errno != 0 || *end != '\0' || arguments[index][0] == '-' || end == arguments[index] || value > largest) {
        fprintf(stderr, "churn: '%s' is not a whole number from 0 to %llu\n", arguments[index],
                (unsigned long long)largest);
        exit(2);
    }
    return value;
}

int main(int count, char **arguments)
{
    replacements = 1000 * number_argument(arguments, count, 1, replacements / 1000, 1000 * 1000);
    remote_percent = number_argument(arguments, count, 2, remote_percent, 100);
    thread_count = number_argument(arguments, count, 3, thread_count, THREADS_MAX);
    live_count = number_argument(arguments, count, 4, live_count, 1 << 24);
    if (thread_count == 0 || live_count == 0) {
        fprintf(stderr, "churn: threads and live objects must be at least 1\n");
        return 2;
    }

    static ring rings[THREADS_MAX];
    static worker workers[THREADS_MAX];
    atomic_init(&working, thread_count);
    pthread_barrier_init(&everybody, NULL, (unsigned)thread_count + 1);
    for (uint64_t i = 0; i < thread_count; i++) {
        worker *w = &workers[i];
        w->random = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        w->in = &rings[i];
        w->out = &rings[(i + 1) % thread_count];
        w->live = calloc(live_count, sizeof *w->live);
        if (w->live == NULL || pthread_create(&w->thread, NULL, work, w) != 0) {
            fail("cannot start a thread");
        }
    }
    pthread_barrier_wait(&everybody);
    double start = clock_seconds(CLOCK_MONOTONIC);
    pthread_barrier_wait(&everybody);
    double seconds = clock_seconds(CLOCK_MONOTONIC) - start;

    uint64_t local_frees = 0;
    uint64_t remote_frees = 0;
    for (uint64_t i = 0; i < thread_count; i++) {
        pthread_join(workers[i].thread, NULL);
        local_frees += workers[i].local_frees;
        remote_frees += workers[i].remote_frees;
        free(workers[i].live);
    }
    uint64_t operations = replacements * thread_count;
    if (local_frees + remote_frees != operations) {
        fail("objects were lost on the way from thread to thread");
    }
    sleep(1);
    long peak_kib = self_peak_kib();
    long rss_kib = self_rss_kib();
    printf("{\"operations\": %llu, \"seconds\": %.6f, \"peak_kib\": %ld, \"rss_kib\": %ld, \"remote_share\": %.4f}\n",
           (unsigned long long)operations, seconds, peak_kib, rss_kib,
           operations == 0 ? 0.0 : (double)remote_frees / (double)operations);
    return 0;
}
