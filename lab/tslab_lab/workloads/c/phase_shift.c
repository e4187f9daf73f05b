// phase-shift: the program goes from phase to phase, each with sizes of its own; of each phase a few objects survive to
// the end. What one phase has freed must serve the next, around the survivors. RSS at the end is with all survivors.

#include "pattern.h"

enum { BANDS = 6 };

static const uint32_t bands[BANDS][2] = { { 16, 64 },   { 513, 1024 },  { 65, 128 },
                                          { 257, 512 }, { 1025, 2048 }, { 129, 256 } };

int main(int count, char **words)
{
    uint64_t values[3];
    arguments_read(count, words, "PHASES MIB SURVIVORS_PERCENT", values, 3);
    require(values[0] != 0 && values[0] <= 1000 && values[1] != 0 && values[1] <= 4096 && values[2] <= 100,
            "there must be from 1 to 1000 phases of 1 to 4096 MiB, and the survivors are a percentage");
    uint64_t phase_bytes = values[1] << 20;

    static actor a;
    actor_init(&a, 0);
    // A phase has as many objects as its mean size tells, so that its work is the same for every allocator.
    size_t most = phase_bytes / ((bands[0][0] + bands[0][1]) / 2);
    void **live = table_map(most * sizeof *live);
    void **survivors = table_map((most * values[0] * values[2] / 100 + 1) * sizeof *survivors);
    uint64_t survivor_count = 0;
    uint64_t operations = 0;
    base_measure();
    double start = cpu_begin();
    for (uint64_t phase = 0; phase < values[0]; phase++) {
        const uint32_t *band = bands[phase % BANDS];
        size_t objects = phase_bytes / ((band[0] + band[1]) / 2);
        for (size_t i = 0; i < objects; i++) {
            live[i] = object_make(&a, low_between(random_next(&a), band[0], band[1]));
        }
        live_sample(&a, 1);
        uint64_t wanted = survivor_count + objects * values[2] / 100;
        for (size_t i = 0; i < objects; i++) {
            // So many, and any of them: the fewer are left to choose from, the likelier each is.
            if (high_below(random_next(&a), (uint32_t)(objects - i)) < wanted - survivor_count) {
                survivors[survivor_count++] = live[i];
            } else {
                object_drop(&a, live[i]);
            }
        }
        operations += objects;
    }
    double seconds = cpu_end(start);
    rss_measure();
    fact facts[] = { { "survivors", (double)survivor_count }, { "survivors_kib", (double)a.live_bytes / 1024 } };
    for (uint64_t i = 0; i < survivor_count; i++) {
        object_drop(&a, survivors[i]);
    }
    report(operations, seconds, &a, 1, facts, 2);
    return 0;
}
