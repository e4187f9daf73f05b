// pinning: many objects of one size are allocated and all freed, but for one in every so many KiB, which holds its
// surroundings. Then as many bytes are allocated in objects of another size: what was freed should serve them. RSS at
// the end is with the objects that were kept.

#include "pattern.h"

#define PARAMETERS(X)                                                                                                  \
    X(mib, 1, 4096)                                                                                                    \
    X(size, SIZE_LEAST, SIZE_MOST)                                                                                     \
    X(then_size, SIZE_LEAST, SIZE_MOST)                                                                                \
    X(keep_kib, 0, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static actor a;

static void allocate(void **objects, size_t many, uint32_t bytes)
{
    for (size_t i = 0; i < many; i++) {
        objects[i] = object_make(&a, bytes);
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
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    size_t keep_every = (size_t)keep_kib * 1024 / size;
    require(keep_every > 1, "one in so many KiB is kept, and they must hold more than one object");
    size_t first_count = ((size_t)mib << 20) / size;
    size_t then_count = ((size_t)mib << 20) / then_size;

    actor_init(&a, 0);
    void **first = table_map(first_count * sizeof *first);
    void **then = table_map(then_count * sizeof *then);
    base_measure();
    double start = cpu_begin();
    allocate(first, first_count, size);
    drop(first, first_count, keep_every);
    double seconds = cpu_end(start);
    long pinned_kib = rss_kib();

    start = cpu_begin();
    allocate(then, then_count, then_size);
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
