#include "measure.h"

#include "histogram.h"
#include "session.h"
#include "work.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

struct worker {
    histogram wall;
    histogram cpu;
    uint64_t objects;
    uint64_t bytes;
};

_Thread_local struct tally tally;

static struct worker workers[WORKERS_MOST];
static atomic_uint workers_used;
static _Thread_local struct worker *own;
static struct rusage usage_before;
static uint64_t sessions_before;
static const struct {
    const char *name, *told;
} figures[] = {
    { "slabs_opened", "opened" }, { "slabs_recycled", "recycled" }, { "refills", "refills" }, { "harvests", "harvests" }
};
enum { FIGURES = sizeof figures / sizeof figures[0] };
static uint64_t figures_before[FIGURES];

static uint64_t figure_of(const char *name)
{
    uint64_t value = 0;
    (void)tslab_stat_get(name, &value);
    return value;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct moment measure_begin(void)
{
    if (own == NULL) {
        const unsigned index = atomic_fetch_add(&workers_used, 1);
        if (index >= WORKERS_MOST) {
            fail("there are more workers than the tables have places for");
        }
        own = &workers[index];
    }
    struct moment begin = { .tally = tally };
    begin.wall_ns = clock_ns(CLOCK_MONOTONIC);
    begin.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return begin;
}

void measure_end(const struct moment *begin)
{
    const uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin->cpu_ns;
    const uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC) - begin->wall_ns;
    if (tally.made - begin->tally.made != tally.dropped - begin->tally.dropped) {
        fail("a request has not dropped what it made");
    }
    histogram_add(&own->wall, (double)wall_ns);
    histogram_add(&own->cpu, (double)cpu_ns);
    own->objects += tally.made - begin->tally.made;
    own->bytes += tally.bytes - begin->tally.bytes;
}

void measure_reset(void)
{
    memset(workers, 0, sizeof workers); // no request is being handled
    getrusage(RUSAGE_SELF, &usage_before);
    sessions_before = sessions_count().created;
    for (unsigned i = 0; i < FIGURES && tslab_stat_get != NULL; i++) {
        figures_before[i] = figure_of(figures[i].name);
    }
}

static void histogram_write(FILE *out, const char *name, size_t offset)
{
    static histogram sum; // one caller at a time: see measure_write
    sum = (histogram){ 0 };
    for (unsigned w = 0; w < WORKERS_MOST; w++) {
        histogram_merge(&sum, (const void *)((const char *)&workers[w] + offset));
    }
    fprintf(out,
            " \"%s\": {\"growth\": %.2f, \"count\": %llu, \"sum_ns\": %.0f, \"least_ns\": %.0f, \"most_ns\": %.0f,",
            name, GROWTH, (unsigned long long)sum.count, sum.sum_ns, sum.least_ns, sum.most_ns);
    fprintf(out, " \"long_ns\": %d, \"long_count\": %llu,\n  \"buckets\": [", LONG_NS,
            (unsigned long long)sum.long_count);
    histogram_print_buckets(out, &sum, 1);
    fprintf(out, "]},\n");
}

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static void process_write(FILE *out)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(out, " \"process\": {\"user_us\": %llu, \"system_us\": %llu},\n",
            (unsigned long long)(microseconds(&usage.ru_utime) - microseconds(&usage_before.ru_utime)),
            (unsigned long long)(microseconds(&usage.ru_stime) - microseconds(&usage_before.ru_stime)));
}

static void library_write(FILE *out)
{
    fprintf(out, " \"slabs\": ");
    if (tslab_stat_get == NULL) {
        fprintf(out, "null");
    } else {
        fprintf(out, "{");
        for (unsigned i = 0; i < FIGURES; i++) {
            // Counters of other threads may be a little old, so a difference may come out below zero.
            const uint64_t now = figure_of(figures[i].name);
            const uint64_t grown = now > figures_before[i] ? now - figures_before[i] : 0;
            fprintf(out, "\"%s\": %llu, ", figures[i].told, (unsigned long long)grown);
        }
        fprintf(out, "\"queue_longest\": %llu}", (unsigned long long)figure_of("queue_longest"));
    }
}

void measure_write(FILE *out, unsigned worker_count)
{
    uint64_t objects = 0, bytes = 0;
    for (unsigned i = 0; i < WORKERS_MOST; i++) {
        objects += workers[i].objects;
        bytes += workers[i].bytes;
    }
    const struct session_counts sessions = sessions_count();
    fprintf(out, "{\"format\": 1, \"workers\": %u, \"workers_used\": %u, \"objects\": %llu, \"bytes\": %llu,\n",
            worker_count, atomic_load(&workers_used), (unsigned long long)objects, (unsigned long long)bytes);
    fprintf(out, " \"sessions\": {\"live\": %llu, \"bytes\": %llu, \"created\": %llu},\n",
            (unsigned long long)sessions.live, (unsigned long long)sessions.bytes,
            (unsigned long long)(sessions.created - sessions_before));
    process_write(out);
    histogram_write(out, "wall", offsetof(struct worker, wall));
    histogram_write(out, "cpu", offsetof(struct worker, cpu));
    library_write(out);
    fprintf(out, "}\n");
}
