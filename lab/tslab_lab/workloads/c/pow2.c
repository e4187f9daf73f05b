// pow2: objects of sizes that are powers of two, whose first words are written in turn. Where an allocator lets all of
// them begin at the same distance from a power of two, they meet in a few sets of the processor's caches. An operation
// is one write; the allocator's own time is not in it.

#include "pattern.h"

enum { BITS_LEAST = 4, BITS_MOST = 20, SIZES = BITS_MOST - BITS_LEAST + 1 };

static void **objects;
static uint32_t object_count;

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
    uint64_t values[2];
    arguments_read(count, words, "OPERATIONS OBJECTS", values, 2);
    object_count = (uint32_t)values[1];
    require(object_count != 0 && object_count <= 100000, "there must be from 1 to 100000 objects of each size");
    uint64_t passes = (values[0] / SIZES / object_count + 1) / 2 * 2 + 2;

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
