// pow2: objects of sizes that are powers of two, whose first words are written in turn. Where an allocator lets all of
// them begin at the same distance from a power of two, they meet in a few sets of the processor's caches. An operation
// is one write; the allocator's own time is not in it.

#include "pattern.h"

enum { BITS_LEAST = 4, BITS_MOST = 20, SIZES = BITS_MOST - BITS_LEAST + 1 };

#define PARAMETERS(X) X(operations, 0, ANY) X(object_count, 1, 100000)
PARAMETERS(PARAMETER_VARIABLE)

static void **objects;

// An even number of passes, after which every object is as it was.
static void write_all(uint64_t passes)
{
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (uint32_t i = 0; i < object_count; i++) {
            volatile uint64_t *word = objects[i];
            *word = ~*word;
        }
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    uint64_t passes = ((uint64_t)operations / SIZES / object_count + 1) / 2 * 2 + 2;

    static actor a;
    actor_init(&a, 0);
    objects = table_map(object_count * sizeof *objects);
    base_measure();
    double seconds = 0;
    double slowest = 0;
    unsigned slowest_size = 0;
    for (unsigned bits = BITS_LEAST; bits <= BITS_MOST; bits++) {
        latency_count(1);
        for (uint32_t i = 0; i < object_count; i++) {
            objects[i] = object_make(&a, UINT32_C(1) << bits);
        }
        live_sample(&a, 1);
        write_all(2);
        double start = cpu_begin();
        write_all(passes);
        double spent = cpu_end(start);
        seconds += spent;
        if (spent > slowest) {
            slowest = spent;
            slowest_size = 1U << bits;
        }
        latency_count(1);
        for (uint32_t i = 0; i < object_count; i++) {
            object_drop(&a, objects[i]);
        }
    }
    uint64_t writes = passes * object_count;
    fact facts[] = { { "slowest_ns", slowest / (double)writes * 1e9 }, { "slowest_size", slowest_size } };
    report(writes * SIZES, seconds, &a, 1, facts, 2);
    return 0;
}
