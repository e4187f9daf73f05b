// scattered: many requests are alive together, their objects side by side; all of them end, and a few of their objects
// live on, anywhere among what was freed. RSS at the end is with these survivors. With EPOCHS 1 each request allocates
// in an epoch of its own, which is closed with reclaim at its end, and what is to live on in another.

#include "pattern.h"
#include "use_epochs.h"

enum {
    SLICES = 8,           // parts in which a request allocates; the others' are between them
    STRIDE = 7919,        // the order in which requests end: a prime apart,
    REQUESTS_MOST = 7000, // and fewer than it
};

#define PARAMETERS(X)                                                                                                  \
    X(request_count, 1, REQUESTS_MOST)                                                                                 \
    X(request_objects, 1, 100000)                                                                                      \
    X(every, 1, ANY)                                                                                                   \
    SIZES(X)                                                                                                           \
    X(with_epochs, 0, 1)
PARAMETERS(PARAMETER_VARIABLE)

static actor a;
static void **objects; // of all requests, one after another, without the survivors; gone when they have ended
static void **survivors;
static size_t survivor_count;
static tslab_epoch *epochs; // of the requests, and the last of the survivors

// What allocators have for a program that asks them to give back what is free. Only one's own is ever there (tslab has
// jemalloc's, too), or, under another allocator, libc's, which then has nothing to give.
extern int malloc_trim(size_t pad);
extern void mi_collect(bool force);
extern void MallocExtension_ReleaseFreeMemory(void);
extern int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
#pragma weak malloc_trim
#pragma weak mi_collect
#pragma weak MallocExtension_ReleaseFreeMemory
#pragma weak mallctl

static void give_back(void)
{
    if (malloc_trim != NULL) {
        malloc_trim(0);
    }
    if (mi_collect != NULL) {
        mi_collect(true);
    }
    if (MallocExtension_ReleaseFreeMemory != NULL) {
        MallocExtension_ReleaseFreeMemory();
    }
    if (mallctl != NULL) {
        mallctl("arena.4096.purge", NULL, NULL, NULL, 0); // 4096: all arenas
    }
}

static void enter(uint32_t epoch)
{
    if (with_epochs) {
        enter_epoch(epochs[epoch], TSLAB_OK);
    }
}

static void leave(uint32_t epoch)
{
    if (with_epochs) {
        leave_epoch(epochs[epoch]);
    }
}

static void end(uint32_t epoch)
{
    if (with_epochs) {
        close_epoch(epochs[epoch], TSLAB_CLOSE_RECLAIM);
    }
}

// One object of each `every` lives on. It is chosen at random, whatever the sizes are.
static bool lives_on(uint64_t serial)
{
    static uint64_t random = 1, survivor;
    if (serial % every == 0) {
        survivor = serial + high_below(random_step(&random), every);
    }
    return serial == survivor;
}

static void allocate_slice(uint32_t request, uint32_t slice, uint64_t *serial)
{
    enter(request);
    for (uint32_t i = slice; i < request_objects; i += SLICES) {
        uint32_t size = low_between(random_next(&a), min, max);
        if (lives_on((*serial)++)) {
            enter(request_count);
            survivors[survivor_count++] = object_make(&a, size);
            leave(request_count);
        } else {
            objects[(size_t)request * request_objects + i] = object_make(&a, size);
        }
    }
    leave(request);
}

static void allocate_all(void)
{
    uint64_t serial = 0;
    for (uint32_t i = 0; with_epochs && i <= request_count; i++) {
        epochs[i] =
            open_epoch_with((struct tslab_epoch_options){ .label = i < request_count ? "request" : "survivors" });
    }
    for (uint32_t slice = 0; slice < SLICES; slice++) {
        for (uint32_t request = 0; request < request_count; request++) {
            allocate_slice(request, slice, &serial);
        }
    }
}

static void finish(uint32_t request)
{
    for (uint32_t i = 0; i < request_objects; i++) {
        void *object = objects[(size_t)request * request_objects + i];
        if (object != NULL) {
            object_drop(&a, object);
        }
    }
    end(request);
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(min <= max, "min must be no more than max");
    if (with_epochs) {
        require_epochs(words[0]);
    }
    size_t all = (size_t)request_count * request_objects;

    actor_init(&a, 0);
    survivors = table_map((all / every + 1) * sizeof *survivors);
    epochs = table_map((request_count + 1) * sizeof *epochs);
    long start_kib = rss_kib();
    objects = table_map(all * sizeof *objects);
    base_measure();
    double start = cpu_begin();
    allocate_all();
    double allocated = cpu_end(start);
    live_sample(&a, 1);
    start = cpu_begin();
    for (uint32_t i = 0; i < request_count; i++) {
        finish((uint32_t)((uint64_t)i * STRIDE % request_count));
    }
    double finished = cpu_end(start);
    munmap(objects, all * sizeof *objects);
    long after_kib = rss_kib();
    rss_measure();
    give_back();
    long asked_kib = rss_kib();

    fact facts[] = { { "survivors", (double)survivor_count }, { "survivors_kib", (double)a.live_bytes / 1024 },
                     { "start_kib", (double)start_kib },      { "after_kib", (double)after_kib },
                     { "asked_kib", (double)asked_kib },      { "allocate_seconds", allocated },
                     { "finish_seconds", finished } };
    for (size_t i = 0; i < survivor_count; i++) {
        object_drop(&a, survivors[i]);
    }
    end(request_count);
    report(all, allocated + finished, &a, 1, facts, 7);
    return 0;
}
