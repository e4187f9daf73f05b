// A request: the same sizes for every way to serve it; and a run of requests, timed.

#ifndef REQUEST_H
#define REQUEST_H

#include "program.h"

enum { OBJECTS = 225, SIZE_LEAST = 16, SIZE_MOST = 448 };

static uint32_t sizes[OBJECTS];
static char *objects[OBJECTS];

static inline void sizes_make(void)
{
    uint64_t random = 1;
    for (unsigned i = 0; i < OBJECTS; i++) {
        sizes[i] = random_between(&random, SIZE_LEAST, SIZE_MOST);
    }
}

static inline uint64_t asked_bytes(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OBJECTS; i++) {
        sum += sizes[i];
    }
    return sum;
}

// All objects are written from end to end before the first is looked at: they do not overlap.
static inline void objects_check(unsigned alignment)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (objects[i] == NULL || (uintptr_t)objects[i] % alignment != 0) {
            fail("an object is not there, or not aligned");
        }
        memset(objects[i], (int)(i & 255), sizes[i]);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        for (uint32_t at = 0; at < sizes[i]; at++) {
            if ((unsigned char)objects[i][at] != (i & 255)) {
                fail("objects overlap");
            }
        }
    }
}

// Runs `work`, which does so many operations, again and again for that long, after a warm-up of a tenth of it. The
// clock is looked at each millisecond or so.
static inline void time_work(void (*work)(uint64_t count), uint64_t milliseconds)
{
    const double wanted = (double)milliseconds / 1e3;
    uint64_t batch = 1;
    double began = cpu_seconds();
    for (double warm = 0; warm < wanted / 10; warm = cpu_seconds() - began) {
        const double before = cpu_seconds();
        work(batch);
        batch *= cpu_seconds() - before < 1e-3 ? 2 : 1;
    }
    uint64_t operations = 0;
    double spent = 0;
    began = cpu_seconds();
    while (spent < wanted) {
        work(batch);
        operations += batch;
        spent = cpu_seconds() - began;
    }
    printf("{\"operations\": %llu, \"seconds\": %.9f, \"asked_bytes\": %llu}\n", (unsigned long long)operations, spent,
           (unsigned long long)asked_bytes());
}

#endif
