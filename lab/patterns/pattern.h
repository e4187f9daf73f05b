// What all patterns share: objects that can be checked, random numbers from a seed, the clocks, the one line of JSON at
// the end. A pattern knows nothing of any allocator: run it under LD_PRELOAD to measure one. Its own tables are mapped,
// not allocated, so that they are no part of what is measured.

#ifndef PATTERN_H
#define PATTERN_H

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
} actor;

typedef struct {
    const char *name;
    double value;
} fact;

static int64_t live_bytes_most;
static long base_kib;

static inline void fail(const char *what)
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

// The generator is xorshift64*. Both halves of its result are used, where two numbers are needed.
static inline uint64_t random_next(actor *a)
{
    a->random ^= a->random >> 12;
    a->random ^= a->random << 25;
    a->random ^= a->random >> 27;
    return a->random * UINT64_C(0x2545F4914F6CDD1D);
}

static inline uint32_t high_below(uint64_t random, uint32_t bound)
{
    return (uint32_t)(((random >> 32) * bound) >> 32);
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

// The first eight bytes say which object this is and how large, the last eight follow from the first.
static inline void *object_make(actor *a, uint32_t size)
{
    unsigned char *start = malloc(size);
    if (start == NULL) {
        fail("malloc returned NULL");
    }
    uint64_t head = ++a->serial << SIZE_BITS | size;
    uint64_t tail = tail_of(head);
    memcpy(start, &head, sizeof head);
    memcpy(start + size - sizeof tail, &tail, sizeof tail);
    a->made += tail;
    live_add(a, size);
    return start;
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
    free(object);
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

static inline double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// One thread is measured by the processor's time that it used, which other work on the machine disturbs least.
static inline double cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static inline double wall_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

static inline long peak_kib(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0) {
        fail("cannot read /proc/self/status");
    }
    close(fd);
    text[length] = '\0';
    const char *found = strstr(text, "VmHWM:");
    return found == NULL ? -1 : strtol(found + strlen("VmHWM:"), NULL, 10);
}

// Zeroed and touched.
static inline void *table_map(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (start == MAP_FAILED) {
        fail("cannot map a table");
    }
    return start;
}

// Everything up to here is not the allocator's: what the process weighs from here on is.
static inline void base_measure(void)
{
    base_kib = peak_kib();
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

// The arguments are whole numbers, all of them required; `names` is the usage.
static inline void arguments_read(int count, char **words, const char *names, uint64_t *values, int wanted)
{
    int good = count == wanted + 1;
    for (int i = 0; good && i < wanted; i++) {
        char *end;
        errno = 0;
        values[i] = strtoull(words[i + 1], &end, 10);
        good = errno == 0 && *end == '\0' && end != words[i + 1] && words[i + 1][0] != '-' && values[i] < UINT32_MAX;
    }
    if (!good) {
        fprintf(stderr, "usage: %s %s\n", words[0], names);
        exit(2);
    }
}

static inline void sizes_check(uint64_t least, uint64_t most)
{
    if (least < SIZE_LEAST || most < least || most > SIZE_MOST) {
        fprintf(stderr, "pattern: sizes must be from %d to %d\n", SIZE_LEAST, SIZE_MOST);
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
    printf("{\"operations\": %llu, \"seconds\": %.9f, \"hash\": \"%016llx\", \"peak_kib\": %ld, \"base_kib\": %ld, "
           "\"live_kib\": %.1f",
           (unsigned long long)operations, seconds, (unsigned long long)made, peak_kib(), base_kib,
           (double)live_bytes_most / 1024);
    for (unsigned i = 0; i < fact_count; i++) {
        printf(", \"%s\": %.6f", facts[i].name, facts[i].value);
    }
    printf("}\n");
}

#endif
