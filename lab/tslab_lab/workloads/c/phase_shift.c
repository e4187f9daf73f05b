// phase-shift: the program goes from phase to phase, each with sizes of its own; of each phase a few objects survive to
// the end. What one phase has freed must serve the next, around the survivors. RSS at the end is with all survivors.
// Several threads share the MiB of a phase, and have ended when RSS is looked at.

#include "crew.h"

enum { BANDS = 6 };

static const uint32_t bands[BANDS][2] = { { 16, 64 },   { 513, 1024 },  { 65, 128 },
                                          { 257, 512 }, { 1025, 2048 }, { 129, 256 } };

#define PARAMETERS(X) X(phases, 1, 1000) X(mib, 1, 4096) X(survivors_percent, 0, 100) X(thread_count, 1, THREADS_MOST)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static void **tables[THREADS_MOST];
static void **survivors[THREADS_MOST];
static uint64_t survivor_counts[THREADS_MOST];
static uint64_t phase_bytes; // of each thread

// As many as the mean size tells, so that the work is the same for every allocator.
static size_t objects_in(uint64_t phase)
{
    const uint32_t *band = bands[phase % BANDS];
    return phase_bytes / ((band[0] + band[1]) / 2);
}

static void one_phase(actor *a, uint64_t phase)
{
    const uint32_t *band = bands[phase % BANDS];
    size_t objects = objects_in(phase);
    void **live = tables[a->index];
    for (size_t i = 0; i < objects; i++) {
        live[i] = object_make(a, low_between(random_next(a), band[0], band[1]));
    }
    if (a->index == 0) {
        live_sample(actors, thread_count);
    }
    uint64_t *count = &survivor_counts[a->index];
    uint64_t wanted = *count + objects * survivors_percent / 100;
    for (size_t i = 0; i < objects; i++) {
        // So many, and any of them: the fewer are left to choose from, the likelier each is.
        if (high_below(random_next(a), (uint32_t)(objects - i)) < wanted - *count) {
            survivors[a->index][(*count)++] = live[i];
        } else {
            object_drop(a, live[i]);
        }
    }
}

static void prepare(actor *a)
{
    (void)a; // what is new to each allocator belongs to what is measured
}

static void work(actor *a)
{
    for (uint64_t phase = 0; phase < phases; phase++) {
        one_phase(a, phase);
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    phase_bytes = ((uint64_t)mib << 20) / thread_count;
    uint64_t operations = 0;
    for (uint64_t phase = 0; phase < phases; phase++) {
        operations += objects_in(phase) * thread_count;
    }
    size_t most = objects_in(0);
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        tables[i] = table_map(most * sizeof *tables[i]);
        survivors[i] = table_map((most * phases * survivors_percent / 100 + 1) * sizeof *survivors[i]);
    }
    base_measure();
    double seconds = crew_run(actors, thread_count, (crew_parts){ prepare, work, NULL });
    rss_measure();
    uint64_t survivor_count = 0;
    int64_t survivor_bytes = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        survivor_count += survivor_counts[i];
        survivor_bytes += actors[i].live_bytes;
    }
    fact facts[] = { { "survivors", (double)survivor_count }, { "survivors_kib", (double)survivor_bytes / 1024 } };
    for (unsigned i = 0; i < thread_count; i++) {
        for (uint64_t at = 0; at < survivor_counts[i]; at++) {
            object_drop(&actors[i], survivors[i][at]);
        }
    }
    report(operations, seconds, actors, thread_count, facts, 2);
    return 0;
}
