#include "measure.h"

#include "session.h"
#include "work.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

// Bucket i holds the times from GROWTH^i ns on, below GROWTH^(i+1): each is 1 % wider than the one before it. The last
// one also holds what is longer than it: over 200 s.
#define GROWTH 1.01
enum { BUCKETS = 2620, LONG_NS = 1000000 };

// Each number has one writer; relaxed atomics let another thread read them meanwhile.
typedef _Atomic uint64_t counter;

struct histogram {
    counter count;
    counter sum_ns;
    counter least_ns;
    counter most_ns;
    counter long_count; // over LONG_NS
    counter buckets[BUCKETS];
};

struct worker {
    struct histogram wall;
    struct histogram cpu;
    counter objects;
    counter bytes;
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

static void add(counter *number, uint64_t more)
{
    atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + more, memory_order_relaxed);
}

static uint64_t get(const counter *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set(counter *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static unsigned bucket_of(uint64_t ns)
{
    const double index = floor(log((double)(ns == 0 ? 1 : ns)) / log(GROWTH));
    return index < BUCKETS - 1 ? (unsigned)index : BUCKETS - 1;
}

static void record(struct histogram *histogram, uint64_t ns)
{
    if (get(&histogram->count) == 0 || ns < get(&histogram->least_ns)) {
        set(&histogram->least_ns, ns);
    }
    if (ns > get(&histogram->most_ns)) {
        set(&histogram->most_ns, ns);
    }
    add(&histogram->count, 1);
    add(&histogram->sum_ns, ns);
    add(&histogram->long_count, ns > LONG_NS);
    add(&histogram->buckets[bucket_of(ns)], 1);
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
    record(&own->wall, wall_ns);
    record(&own->cpu, cpu_ns);
    add(&own->objects, tally.made - begin->tally.made);
    add(&own->bytes, tally.bytes - begin->tally.bytes);
}

void measure_reset(void)
{
    memset((void *)workers, 0, sizeof workers); // no request is being handled
    getrusage(RUSAGE_SELF, &usage_before);
    sessions_before = sessions_count().created;
    for (unsigned i = 0; i < FIGURES && tslab_stat_get != NULL; i++) {
        figures_before[i] = figure_of(figures[i].name);
    }
}

static void histogram_write(int fd, const char *name, size_t offset)
{
    static uint64_t buckets[BUCKETS]; // one caller at a time: see measure_write
    memset(buckets, 0, sizeof buckets);
    uint64_t count = 0, sum = 0, least = UINT64_MAX, most = 0, longer = 0;
    for (unsigned w = 0; w < WORKERS_MOST; w++) {
        const struct histogram *histogram = (const void *)((const char *)&workers[w] + offset);
        if (get(&histogram->count) == 0) {
            continue;
        }
        count += get(&histogram->count);
        sum += get(&histogram->sum_ns);
        longer += get(&histogram->long_count);
        least = get(&histogram->least_ns) < least ? get(&histogram->least_ns) : least;
        most = get(&histogram->most_ns) > most ? get(&histogram->most_ns) : most;
        for (unsigned i = 0; i < BUCKETS; i++) {
            buckets[i] += get(&histogram->buckets[i]);
        }
    }
    dprintf(fd, " \"%s\": {\"growth\": %.2f, \"count\": %llu, \"sum_ns\": %llu, \"least_ns\": %llu, \"most_ns\": %llu,",
            name, GROWTH, (unsigned long long)count, (unsigned long long)sum,
            (unsigned long long)(count == 0 ? 0 : least), (unsigned long long)most);
    dprintf(fd, " \"long_ns\": %d, \"long_count\": %llu,\n  \"buckets\": [", LONG_NS, (unsigned long long)longer);
    const char *comma = "";
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (buckets[i] != 0) {
            dprintf(fd, "%s[%u, %llu]", comma, i, (unsigned long long)buckets[i]);
            comma = ", ";
        }
    }
    dprintf(fd, "]},\n");
}

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static void process_write(int fd)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    dprintf(fd, " \"process\": {\"user_us\": %llu, \"system_us\": %llu},\n",
            (unsigned long long)(microseconds(&usage.ru_utime) - microseconds(&usage_before.ru_utime)),
            (unsigned long long)(microseconds(&usage.ru_stime) - microseconds(&usage_before.ru_stime)));
}

static void library_write(int fd)
{
    dprintf(fd, " \"slabs\": ");
    if (tslab_stat_get == NULL) {
        dprintf(fd, "null");
    } else {
        dprintf(fd, "{");
        for (unsigned i = 0; i < FIGURES; i++) {
            // Counters of other threads may be a little old, so a difference may come out below zero.
            const uint64_t now = figure_of(figures[i].name);
            const uint64_t grown = now > figures_before[i] ? now - figures_before[i] : 0;
            dprintf(fd, "\"%s\": %llu, ", figures[i].told, (unsigned long long)grown);
        }
        dprintf(fd, "\"queue_longest\": %llu}", (unsigned long long)figure_of("queue_longest"));
    }
}

void measure_write(int fd, unsigned worker_count)
{
    uint64_t objects = 0, bytes = 0;
    for (unsigned i = 0; i < WORKERS_MOST; i++) {
        objects += get(&workers[i].objects);
        bytes += get(&workers[i].bytes);
    }
    const struct session_counts sessions = sessions_count();
    dprintf(fd, "{\"format\": 1, \"workers\": %u, \"workers_used\": %u, \"objects\": %llu, \"bytes\": %llu,\n",
            worker_count, atomic_load(&workers_used), (unsigned long long)objects, (unsigned long long)bytes);
    dprintf(fd, " \"sessions\": {\"live\": %llu, \"bytes\": %llu, \"created\": %llu},\n",
            (unsigned long long)sessions.live, (unsigned long long)sessions.bytes,
            (unsigned long long)(sessions.created - sessions_before));
    process_write(fd);
    histogram_write(fd, "wall", offsetof(struct worker, wall));
    histogram_write(fd, "cpu", offsetof(struct worker, cpu));
    library_write(fd);
    dprintf(fd, "}\n");
}
