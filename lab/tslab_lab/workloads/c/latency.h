// How long single operations take: with -DLATENCY=1 every call of the allocator is timed by itself, and counted in a
// histogram of the actor that made it. Without, nothing of this is left in the program. The histograms are mapped, not
// allocated, and shared with child processes.
//
// The timer's own time is part of every figure: it is measured, and printed beside them.

#ifndef LATENCY_H
#define LATENCY_H

#include "histogram.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef LATENCY
#define LATENCY 0
#endif

typedef enum { LATENCY_MALLOC, LATENCY_FREE, LATENCY_REALLOC, LATENCY_CALLOC, LATENCY_KINDS } latency_kind;

// One actor's. Only the actor writes it; it is read when all actors are done.
typedef struct latency_record {
    struct latency_record *next;
    histogram kinds[LATENCY_KINDS];
} latency_record;

typedef struct {
    double ns_per_tick;
    double median_ns; // of the timer itself
    double low_ns;    // and what one in a hundred is below
    int has_tsc;
} latency_clock;

static latency_clock latency_timer = { .ns_per_tick = 1 };
static latency_record *_Atomic latency_records;
static _Atomic int latency_on; // while the clock of the workload runs: neither the warm-up nor the end counts

static inline uint64_t latency_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Waits for what comes before it, and lets nothing begin that comes after it.
static inline uint64_t latency_ticks(void)
{
#if defined(__x86_64__)
    if (latency_timer.has_tsc) {
        unsigned processor;
        uint64_t ticks = __builtin_ia32_rdtscp(&processor);
        __builtin_ia32_lfence();
        return ticks;
    }
#endif
    return latency_monotonic_ns();
}

// The processor's counter serves only where it runs at one speed, whatever the processor does.
static inline int latency_finds_tsc(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1U << 8) != 0;
#else
    return 0;
#endif
}

static inline void latency_timer_weigh(void)
{
    enum { SAMPLES = 20000, MOST = 4096 };
    static uint32_t counts[MOST];
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t start = latency_ticks();
        uint64_t ticks = latency_ticks() - start;
        counts[ticks < MOST ? ticks : MOST - 1]++;
    }
    uint32_t seen = 0;
    for (unsigned ticks = 0; ticks < MOST && seen <= SAMPLES / 2; ticks++) {
        seen += counts[ticks];
        if (seen <= SAMPLES / 100) {
            latency_timer.low_ns = (ticks + 1) * latency_timer.ns_per_tick;
        }
        latency_timer.median_ns = ticks * latency_timer.ns_per_tick;
    }
}

// The counter's speed is taken from the clock over a while that is long beside what reading the clock takes.
static inline void latency_start(void)
{
    enum { CALIBRATION_NS = 20000000 };
    latency_timer.has_tsc = latency_finds_tsc();
    if (latency_timer.has_tsc) {
        uint64_t start_ns = latency_monotonic_ns();
        uint64_t start = latency_ticks();
        while (latency_monotonic_ns() - start_ns < CALIBRATION_NS) {
        }
        uint64_t end_ns = latency_monotonic_ns();
        latency_timer.ns_per_tick = (double)(end_ns - start_ns) / (double)(latency_ticks() - start);
    }
    latency_timer_weigh();
}

static inline latency_record *latency_record_new(void)
{
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    latency_record *record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (record == MAP_FAILED) {
        fprintf(stderr, "pattern: cannot map a histogram\n");
        abort();
    }
    record->next = atomic_load(&latency_records);
    while (!atomic_compare_exchange_weak(&latency_records, &record->next, record)) {
    }
    return record;
}

// These two stand around one call of the allocator.
static inline uint64_t latency_begin(void)
{
    return LATENCY ? latency_ticks() : 0;
}

static inline void latency_end(latency_record **record, latency_kind kind, uint64_t begin)
{
    if (LATENCY) {
        uint64_t end = latency_ticks();
        if (atomic_load_explicit(&latency_on, memory_order_relaxed)) {
            if (*record == NULL) {
                *record = latency_record_new();
            }
            double ticks = end > begin ? (double)(end - begin) : 0; // processors may differ by a little
            histogram_add(&(*record)->kinds[kind], ticks * latency_timer.ns_per_tick);
        }
    }
}

static inline void latency_count(int on)
{
    if (LATENCY) {
        atomic_store(&latency_on, on);
    }
}

static inline void latency_print_kind(latency_kind kind, const char *comma)
{
    static const char *const names[LATENCY_KINDS] = { "malloc", "free", "realloc", "calloc" };
    static histogram sum;
    sum = (histogram){ 0 };
    for (latency_record *record = atomic_load(&latency_records); record != NULL; record = record->next) {
        histogram_merge(&sum, &record->kinds[kind]);
    }
    printf("%s{\"operation\": \"%s\", \"count\": %llu, \"max_ns\": %.2f, \"timer_ns\": %.2f, \"timer_low_ns\": %.2f, "
           "\"timer\": \"%s\", \"buckets\": [",
           comma, names[kind], (unsigned long long)sum.count, sum.most_ns, latency_timer.median_ns,
           latency_timer.low_ns, latency_timer.has_tsc ? "rdtscp" : "clock_gettime");
    histogram_print_buckets(stdout, &sum, 0);
    printf("]}");
}

static inline int latency_has(latency_kind kind)
{
    for (latency_record *record = atomic_load(&latency_records); record != NULL; record = record->next) {
        if (record->kinds[kind].count != 0) {
            return 1;
        }
    }
    return 0;
}

// The kinds of operations that there were.
static inline void latency_print(void)
{
    printf(", \"latency\": [");
    const char *comma = "";
    for (latency_kind kind = 0; kind < LATENCY_KINDS; kind++) {
        if (latency_has(kind)) {
            latency_print_kind(kind, comma);
            comma = ", ";
        }
    }
    printf("]");
}

#endif
