// pinning: many objects of one size are allocated and all freed, but for one in every so many KiB, which holds its
// surroundings. Then as many bytes are allocated in objects of another size: what was freed should serve them. RSS at
// the end is with the objects that were kept.

#include "pattern.h"

static actor a;

static void allocate(void **objects, size_t many, uint32_t size)
{
    for (size_t i = 0; i < many; i++) {
        objects[i] = object_make(&a, size);
    }
    live_sample(&a, 1);
}

// All but every so many-th.
static void drop(void **objects, size_t many, size_t but_every)
{
    for (size_t i = 0; i < many; i++) {
        if (but_every == 0 || i % but_every != 0) {
            object_drop(&a, objects[i]);
        }
    }
}

int main(int count, char **words)
{
    uint64_t values[4];
    arguments_read(count, words, "MIB SIZE THEN KEEP_KIB", values, 4);
    require(values[0] != 0 && values[0] <= 4096, "there must be from 1 to 4096 MiB of objects");
    sizes_check(values[1], values[1]);
    sizes_check(values[2], values[2]);
    size_t keep_every = values[3] * 1024 / values[1];
    require(keep_every > 1, "one in so many KiB is kept, and they must hold more than one object");
    size_t first_count = (values[0] << 20) / values[1];
    size_t then_count = (values[0] << 20) / values[2];

    actor_init(&a, 0);
    void **first = table_map(first_count * sizeof *first);
    void **then = table_map(then_count * sizeof *then);
    base_measure();
    double start = cpu_begin();
    allocate(first, first_count, (uint32_t)values[1]);
    drop(first, first_count, keep_every);
    double seconds = cpu_end(start);
    long pinned_kib = rss_kib();

    start = cpu_begin();
    allocate(then, then_count, (uint32_t)values[2]);
    seconds += cpu_end(start);
    long refilled_kib = rss_kib();
    start = cpu_begin();
    drop(then, then_count, 0);
    seconds += cpu_end(start);
    rss_measure();

    double kept_kib = (double)a.live_bytes / 1024;
    for (size_t i = 0; i < first_count; i += keep_every) {
        object_drop(&a, first[i]);
    }
    fact facts[] = { { "survivors_kib", kept_kib },
                     { "pinned_kib", (double)pinned_kib },
                     { "refilled_kib", (double)refilled_kib } };
    report(first_count + then_count, seconds, &a, 1, facts, 3);
    return 0;
}
