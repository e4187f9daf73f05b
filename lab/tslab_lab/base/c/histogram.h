// Histograms of times: bucket i holds those from GROWTH^i ns on, below GROWTH^(i+1), so each is 1 % wider than the one
// before it. The first also holds what is shorter, and the last what is longer: over 200 s. A histogram has one writer,
// and is read when that is done.

#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define GROWTH 1.01
enum { BUCKETS = 2620, LONG_NS = 1000000 };

typedef struct {
    uint64_t count;
    uint64_t long_count; // over LONG_NS
    double sum_ns;
    double least_ns;
    double most_ns;
    uint64_t buckets[BUCKETS];
} histogram;

static inline void histogram_add(histogram *h, double ns)
{
    const double index = floor(log(ns < 1 ? 1 : ns) / log(GROWTH));
    h->least_ns = h->count == 0 || ns < h->least_ns ? ns : h->least_ns;
    h->most_ns = ns > h->most_ns ? ns : h->most_ns;
    h->count++;
    h->sum_ns += ns;
    h->long_count += ns > LONG_NS;
    h->buckets[index < BUCKETS - 1 ? (unsigned)index : BUCKETS - 1]++;
}

static inline void histogram_merge(histogram *sum, const histogram *one)
{
    if (one->count == 0) {
        return;
    }
    sum->least_ns = sum->count == 0 || one->least_ns < sum->least_ns ? one->least_ns : sum->least_ns;
    sum->most_ns = one->most_ns > sum->most_ns ? one->most_ns : sum->most_ns;
    sum->count += one->count;
    sum->sum_ns += one->sum_ns;
    sum->long_count += one->long_count;
    for (unsigned i = 0; i < BUCKETS; i++) {
        sum->buckets[i] += one->buckets[i];
    }
}

// Those that are not empty, as JSON, by their least time, or by their number.
static inline void histogram_print_buckets(FILE *out, const histogram *h, int by_number)
{
    const char *comma = "";
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (h->buckets[i] != 0) {
            fprintf(out, "%s[%.6g, %llu]", comma, by_number ? i : pow(GROWTH, i), (unsigned long long)h->buckets[i]);
            comma = ", ";
        }
    }
}

#endif
