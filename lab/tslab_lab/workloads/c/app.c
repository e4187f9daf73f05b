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

#define PARAMETERS(X) X(operations, 0, ANY) X(thread_count, 1, THREADS_MOST) X(live_count, 1, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST][LIFETIMES];
static uint32_t counts[LIFETIMES];

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
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    operations /= thread_count;
    counts[SHORT] = SHORT_LIVE;
    counts[MEDIUM] = live_count / MEDIUM_PART + 1;
    counts[LONG] = live_count;
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        for (unsigned life = 0; life < LIFETIMES; life++) {
            tables[i][life] = table_map(counts[life] * sizeof *tables[i][life]);
        }
    }
    base_measure();
    double seconds = crew_run(actors, thread_count, (crew_parts){ prepare, work, finish });
    report((uint64_t)operations * thread_count, seconds, actors, thread_count, NULL, 0);
    return 0;
}
