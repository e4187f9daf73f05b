// app: an application's mixture of sizes and of lifetimes. Each thread replaces objects: most are dead after a few
// operations, some after many, and a few stay for long.

#include "crew.h"
#include "mixture.h"

enum { SHORT, MEDIUM, LONG, LIFETIMES };
enum {
    SHORT_PERCENT = 80,
    MEDIUM_PERCENT = 15,
    SHORT_LIVE = 64,
    MEDIUM_PART = 10, // of the long-lived ones
};

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST][LIFETIMES];
static uint32_t counts[LIFETIMES];
static uint64_t operations;
static unsigned thread_count;

static void replace(actor *a, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(a);
        uint32_t percent = low_between(random, 0, 99);
        unsigned life = percent < SHORT_PERCENT ? SHORT : percent < SHORT_PERCENT + MEDIUM_PERCENT ? MEDIUM : LONG;
        void **place = &tables[a->index][life][high_below(random, counts[life])];
        mixture_drop(a, *place);
        *place = mixture_make(a);
        if (a->index == 0 && i % 1024 == 0) {
            live_sample(actors, thread_count);
        }
    }
}

static void prepare(actor *a)
{
    for (unsigned life = 0; life < LIFETIMES; life++) {
        for (uint32_t i = 0; i < counts[life]; i++) {
            tables[a->index][life][i] = mixture_make(a);
        }
    }
    replace(a, operations / 5);
}

static void work(actor *a)
{
    replace(a, operations);
}

static void finish(actor *a)
{
    for (unsigned life = 0; life < LIFETIMES; life++) {
        for (uint32_t i = 0; i < counts[life]; i++) {
            mixture_drop(a, tables[a->index][life][i]);
        }
    }
}

int main(int count, char **words)
{
    uint64_t values[3];
    arguments_read(count, words, "OPERATIONS THREADS LIVE", values, 3);
    threads_check(values[1]);
    require(values[2] != 0, "each thread must have live objects");
    thread_count = (unsigned)values[1];
    operations = values[0] / thread_count;
    counts[SHORT] = SHORT_LIVE;
    counts[MEDIUM] = (uint32_t)values[2] / MEDIUM_PART + 1;
    counts[LONG] = (uint32_t)values[2];
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        for (unsigned life = 0; life < LIFETIMES; life++) {
            tables[i][life] = table_map(counts[life] * sizeof *tables[i][life]);
        }
    }
    base_measure();
    double seconds = crew_run(actors, thread_count, (crew_parts){ prepare, work, finish });
    report(operations * thread_count, seconds, actors, thread_count, NULL, 0);
    return 0;
}
