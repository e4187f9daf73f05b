// What all patterns share: objects that can be checked, random numbers from a seed, the clocks, the one line of JSON at
// the end. A pattern knows nothing of any allocator: run it under LD_PRELOAD to measure one. Its own tables are mapped,
// not allocated, so that they are no part of what is measured.

#ifndef PATTERN_H
#define PATTERN_H

#include "latency.h"
#include "self.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SIZE_LEAST = 16, // room for the marks at both ends
    SIZE_BITS = 21,
    SIZE_MOST = 1 << 20,
    THREADS_MOST = 64,
    SERIAL_BITS = 32, // objects that one actor may make
};

// One thread's part in a pattern. What it made and freed is summed up without regard to order and place, so that the
// sums do not depend on the allocator, nor on which thread comes first.
typedef struct {
    _Alignas(64) uint64_t random;
    uint64_t serial;
    uint64_t made;
    uint64_t freed;
    _Atomic int64_t live_bytes; // made less freed by this actor: below zero for one that only frees
    uint64_t local_frees;
    uint64_t remote_frees;
    pthread_t thread;
    unsigned index;
    latency_record *latency; // none until the first operation that is timed
} actor;

typedef struct {
    const char *name;
    double value;
} fact;

static int64_t live_bytes_most;
static long base_kib;
static self_weight weight_after = { -1, -1, -1, -1 };
static self_costs spent_before;
static long rss_most_kib;
static unsigned settle_ms;

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "pattern: %s\n", what);
    abort();
}

static inline void actor_init(actor *a, unsigned index)
{
    a->random = (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    a->serial = (uint64_t)index << SERIAL_BITS;
    a->index = index;
}

static inline uint64_t random_next(actor *a)
{
    return random_step(&a->random);
}

static inline uint32_t low_between(uint64_t random, uint32_t least, uint32_t most)
{
    return least + (uint32_t)(((random & UINT32_MAX) * (most - least + 1)) >> 32);
}

static inline uint64_t tail_of(uint64_t head)
{
    return head * UINT64_C(0xD6E8FEB86659FD93);
}

static inline void live_add(actor *a, int64_t bytes)
{
    int64_t now = atomic_load_explicit(&a->live_bytes, memory_order_relaxed);
    atomic_store_explicit(&a->live_bytes, now + bytes, memory_order_relaxed);
}

// The calls of the allocator; the latency build times each by itself.
static inline void *timed_malloc(actor *a, size_t size)
{
    uint64_t begin = latency_begin();
    void *start = malloc(size);
    latency_end(&a->latency, LATENCY_MALLOC, begin);
    if (start == NULL) {
        fail("malloc returned NULL");
    }
    return start;
}

static inline void *timed_calloc(actor *a, size_t size)
{
    uint64_t begin = latency_begin();
    void *start = calloc(1, size);
    latency_end(&a->latency, LATENCY_CALLOC, begin);
    if (start == NULL) {
        fail("calloc returned NULL");
    }
    return start;
}

static inline void *timed_realloc(actor *a, void *old, size_t size)
{
    uint64_t begin = latency_begin();
    void *start = realloc(old, size);
    latency_end(&a->latency, LATENCY_REALLOC, begin);
    if (start == NULL) {
        fail("realloc returned NULL");
    }
    return start;
}

static inline void timed_free(actor *a, void *start)
{
    uint64_t begin = latency_begin();
    free(start);
    latency_end(&a->latency, LATENCY_FREE, begin);
}

// The first eight bytes say which object this is and how large, the last eight follow from the first.
static inline void object_mark(actor *a, void *object, uint32_t size)
{
    unsigned char *start = object;
    uint64_t head = ++a->serial << SIZE_BITS | size;
    uint64_t tail = tail_of(head);
    memcpy(start, &head, sizeof head);
    memcpy(start + size - sizeof tail, &tail, sizeof tail);
    a->made += tail;
    live_add(a, size);
}

static inline void *object_make(actor *a, uint32_t size)
{
    void *object = timed_malloc(a, size);
    object_mark(a, object, size);
    return object;
}

// Says how large the object is, after a look at both ends.
static inline uint32_t object_check(actor *a, void *object)
{
    uint64_t head;
    uint64_t tail;
    memcpy(&head, object, sizeof head);
    uint32_t size = head & ((UINT32_C(1) << SIZE_BITS) - 1);
    if (size < SIZE_LEAST || size > SIZE_MOST) {
        fail("an object was damaged while it was alive");
    }
    memcpy(&tail, (unsigned char *)object + size - sizeof tail, sizeof tail);
    if (tail != tail_of(head)) {
        fail("an object was damaged while it was alive");
    }
    a->freed += tail;
    live_add(a, -(int64_t)size);
    return size;
}

static inline void object_drop(actor *a, void *object)
{
    object_check(a, object);
    timed_free(a, object);
}

// Any thread may look, but only one in each pattern does.
static inline void live_sample(actor *actors, unsigned count)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += atomic_load_explicit(&actors[i].live_bytes, memory_order_relaxed);
    }
    live_bytes_most = sum > live_bytes_most ? sum : live_bytes_most;
}

static inline double wall_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

// Between these the clock of the workload runs, and operations are timed. Both pairs may be used more than once.
static inline double cpu_begin(void)
{
    latency_count(1);
    return cpu_seconds();
}

static inline double cpu_end(double begin)
{
    double seconds = cpu_seconds() - begin;
    latency_count(0);
    return seconds;
}

static inline double wall_begin(void)
{
    latency_count(1);
    return wall_seconds();
}

static inline double wall_end(double begin)
{
    double seconds = wall_seconds() - begin;
    latency_count(0);
    return seconds;
}

static inline long rss_kib(void)
{
    long now = self_rss_kib();
    rss_most_kib = now > rss_most_kib ? now : rss_most_kib;
    return now;
}

// What the process weighs after the work. A workload with survivors calls this while they are still there.
static inline void rss_measure(void)
{
    sleep_ms(settle_ms);
    weight_after = self_weigh();
    rss_most_kib = weight_after.rss_kib > rss_most_kib ? weight_after.rss_kib : rss_most_kib;
}

// Everything up to here is not the allocator's: what the process weighs from here on is.
static inline void base_measure(void)
{
    if (LATENCY) {
        latency_start();
    }
    base_kib = self_peak_kib();
    spent_before = self_spent();
}

static inline void threads_start(actor *actors, unsigned count, void *(*work)(void *))
{
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&actors[i].thread, NULL, work, &actors[i]) != 0) {
            fail("cannot start a thread");
        }
    }
}

static inline void threads_join(actor *actors, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_join(actors[i].thread, NULL);
    }
}

// All who are at the barrier wait until the main thread has looked at the clock: it may be woken last, and others must
// not have run on meanwhile. The actors call the first, the main thread the two others, in place of the first.
static inline void gate_wait(pthread_barrier_t *everybody)
{
    pthread_barrier_wait(everybody);
    pthread_barrier_wait(everybody);
}

static inline double gate_begin(pthread_barrier_t *everybody)
{
    pthread_barrier_wait(everybody);
    double begin = wall_begin();
    pthread_barrier_wait(everybody);
    return begin;
}

static inline double gate_end(pthread_barrier_t *everybody, double begin)
{
    pthread_barrier_wait(everybody);
    double seconds = wall_end(begin);
    pthread_barrier_wait(everybody);
    return seconds;
}

static inline int number_read(const char *word, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(word, &end, 10);
    return errno == 0 && *end == '\0' && end != word && word[0] != '-' && *value < UINT32_MAX;
}

// The parameters are whole numbers, all of them required. A program lists them as PARAMETERS(X), in the order of its
// command line, each with the least and the most that it may be: it becomes a variable. One more may follow in every
// program: how long to wait before RSS is looked at, when all work is done.
typedef struct {
    const char *name;
    uint32_t *value;
    uint32_t least, most;
} parameter;

#define ANY                                   (UINT32_MAX - 1)
#define PARAMETER_VARIABLE(name, least, most) static uint32_t name;
#define SIZES(X)                              X(min, SIZE_LEAST, SIZE_MOST) X(max, SIZE_LEAST, SIZE_MOST)
#define PARAMETER_ROW(name, least, most)      { #name, &name, least, most },

// The last one has no name.
static inline void parameters_read(int count, char **words, const parameter *wanted)
{
    uint64_t value;
    int at = 1;
    for (; wanted->name != NULL; wanted++, at++) {
        if (at >= count || !number_read(words[at], &value) || value < wanted->least || value > wanted->most) {
            fprintf(stderr, "pattern: %s must be from %u to %u\n", wanted->name, wanted->least, wanted->most);
            exit(2);
        }
        *wanted->value = (uint32_t)value;
    }
    if (at < count && number_read(words[at], &value)) {
        settle_ms = (unsigned)value;
    }
}

// For what else the parameters must be.
static inline void require(int good, const char *sentence)
{
    if (!good) {
        fprintf(stderr, "pattern: %s\n", sentence);
        exit(2);
    }
}

// Everything must have been freed. The hash is the same for the same work, whatever the allocator.
static inline void report(uint64_t operations, double seconds, const actor *actors, unsigned count, const fact *facts,
                          unsigned fact_count)
{
    uint64_t made = 0;
    uint64_t freed = 0;
    for (unsigned i = 0; i < count; i++) {
        made += actors[i].made;
        freed += actors[i].freed;
    }
    if (made != freed) {
        fail("what was freed is not what was made");
    }
    self_costs spent = self_spent();
    if (weight_after.rss_kib < 0) {
        rss_measure();
    }
    long peak = self_peak_kib();
    peak = rss_most_kib > peak ? rss_most_kib : peak;
    printf("{\"operations\": %llu, \"seconds\": %.9f, \"hash\": \"%016llx\", \"peak_kib\": %ld, \"base_kib\": %ld, "
           "\"live_kib\": %.1f, \"rss_kib\": %ld",
           (unsigned long long)operations, seconds, (unsigned long long)made, peak, base_kib,
           (double)live_bytes_most / 1024, weight_after.rss_kib);
    printf(", \"pss_kib\": %ld, \"private_kib\": %ld, \"huge_kib\": %ld, \"system_seconds\": %.6f, \"faults\": %ld",
           weight_after.pss_kib, weight_after.private_kib, weight_after.huge_kib,
           spent.system_seconds - spent_before.system_seconds, spent.faults - spent_before.faults);
    for (unsigned i = 0; i < fact_count; i++) {
        printf(", \"%s\": %.6f", facts[i].name, facts[i].value);
    }
    if (LATENCY) {
        latency_print();
    }
    printf("}\n");
}

#endif
