// scattered: many requests are alive together, their objects side by side; all of them end, and a few of their objects
// live on, anywhere among what was freed. RSS at the end is with these survivors.

#include "pattern.h"

enum {
    SLICES = 8,           // parts in which a request allocates; the others' are between them
    STRIDE = 7919,        // the order in which requests end: a prime apart,
    REQUESTS_MOST = 7000, // and fewer than it
};

static actor a;
static void **objects; // of all requests, one after another
static uint32_t request_count;
static uint32_t request_objects;
static uint32_t sizes[2];

static void allocate_all(void)
{
    for (uint32_t slice = 0; slice < SLICES; slice++) {
        for (uint32_t request = 0; request < request_count; request++) {
            for (uint32_t i = slice; i < request_objects; i += SLICES) {
                uint32_t size = low_between(random_next(&a), sizes[0], sizes[1]);
                objects[(size_t)request * request_objects + i] = object_make(&a, size);
            }
        }
    }
}

// One of so many, at random, stays in the table.
static void finish(uint32_t request, uint32_t every)
{
    for (uint32_t i = 0; i < request_objects; i++) {
        void **place = &objects[(size_t)request * request_objects + i];
        if (high_below(random_next(&a), every) != 0) {
            object_drop(&a, *place);
            *place = NULL;
        }
    }
}

int main(int count, char **words)
{
    uint64_t values[5];
    arguments_read(count, words, "REQUESTS OBJECTS EVERY LEAST MOST", values, 5);
    require(values[0] != 0 && values[0] <= REQUESTS_MOST, "there must be from 1 to 7000 requests");
    require(values[1] != 0 && values[1] <= 100000, "a request must have from 1 to 100000 objects");
    require(values[2] != 0, "one of every 1 or more objects survives");
    request_count = (uint32_t)values[0];
    request_objects = (uint32_t)values[1];
    sizes[0] = (uint32_t)values[3];
    sizes[1] = (uint32_t)values[4];
    sizes_check(sizes[0], sizes[1]);
    size_t all = (size_t)request_count * request_objects;

    actor_init(&a, 0);
    objects = table_map(all * sizeof *objects);
    base_measure();
    double start = cpu_begin();
    allocate_all();
    live_sample(&a, 1);
    for (uint32_t i = 0; i < request_count; i++) {
        finish((uint32_t)((uint64_t)i * STRIDE % request_count), (uint32_t)values[2]);
    }
    double seconds = cpu_end(start);
    rss_measure();

    double survivors_kib = (double)a.live_bytes / 1024;
    uint64_t survivors = 0;
    for (size_t i = 0; i < all; i++) {
        if (objects[i] != NULL) {
            object_drop(&a, objects[i]);
            survivors++;
        }
    }
    fact facts[] = { { "survivors", (double)survivors }, { "survivors_kib", survivors_kib } };
    report(all, seconds, &a, 1, facts, 2);
    return 0;
}
