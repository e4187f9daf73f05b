// What stays behind when many requests were alive together, all are over, and a few of their objects live on, scattered
// among the others: the memory of the process afterwards above that at the start.
//
// usage: scattered REQUESTS OBJECTS SURVIVORS IDLE_MS EPOCHS. With EPOCHS 1 each request allocates in an epoch of its
// own, which is closed with reclaim at its end, and what is to live on in another; with 0 all is plain malloc and free,
// on any allocator.

#include "use_epochs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_LEAST = 16,
    SIZE_MOST = 512,
    SLICES = 8,    // parts in which a request allocates; the others' are between them
    STRIDE = 7919, // the order in which requests end: a prime apart, and more than there are
};

// The smallest is all of it; a larger one is filled with the low byte of its mark.
struct object {
    struct object *next;
    uint32_t size;
    uint32_t mark;
    unsigned char bytes[];
};

struct request {
    struct object *objects;
    tslab_epoch epoch;
};

static unsigned request_count, object_count, survivor_count, idle_ms, with_epochs;

static struct request *requests; // mapped: no part of what is measured
static struct object *survivors;
static tslab_epoch survivor_epoch;
static uint64_t asked_bytes;
static uint64_t survivor_bytes;
static uint64_t random_state = 1;

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

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "scattered: %s\n", what);
    abort();
}

static struct object *object_make(uint32_t serial)
{
    const uint32_t size = SIZE_LEAST + high_below(random_step(&random_state), SIZE_MOST - SIZE_LEAST + 1);
    struct object *object = malloc(size);
    if (object == NULL) {
        fail("malloc returned NULL");
    }
    object->size = size;
    object->mark = serial ^ size << 20;
    memset(object->bytes, (int)(object->mark & 255), size - sizeof *object);
    asked_bytes += size;
    return object;
}

static void objects_drop(struct object *object)
{
    while (object != NULL) {
        struct object *next = object->next;
        const size_t length = object->size - sizeof *object;
        const unsigned char wanted = object->mark & 255;
        if (object->size < SIZE_LEAST || object->size > SIZE_MOST ||
            (length > 0 && (object->bytes[0] != wanted || object->bytes[length - 1] != wanted))) {
            fail("an object was damaged while it was alive");
        }
        free(object);
        object = next;
    }
}

static void enter(tslab_epoch epoch)
{
    if (with_epochs) {
        enter_epoch(epoch, TSLAB_OK);
    }
}

static void leave(tslab_epoch epoch)
{
    if (with_epochs) {
        leave_epoch(epoch);
    }
}

static tslab_epoch begin(const char *label)
{
    return with_epochs ? open_epoch_with((struct tslab_epoch_options){ .label = label }) : (tslab_epoch){ 0 };
}

static void end(tslab_epoch epoch)
{
    if (with_epochs) {
        close_epoch(epoch, TSLAB_CLOSE_RECLAIM);
    }
}

static void push(struct object **list, struct object *object)
{
    object->next = *list;
    *list = object;
}

// One of every so many objects lives on, at random among them, so that their number is as wanted.
static void allocate_slice(struct request *request, uint32_t *serial, uint32_t *survivor_at)
{
    const uint32_t window = request_count * object_count / survivor_count;
    enter(request->epoch);
    for (unsigned i = 0; i < object_count / SLICES; i++) {
        if (*serial % window == 0) {
            *survivor_at = *serial + high_below(random_step(&random_state), window);
        }
        if (*serial == *survivor_at) {
            enter(survivor_epoch);
            push(&survivors, object_make(*serial));
            leave(survivor_epoch);
            survivor_bytes += survivors->size;
        } else {
            push(&request->objects, object_make(*serial));
        }
        ++*serial;
    }
    leave(request->epoch);
}

static void allocate_all(void)
{
    uint32_t serial = 0;
    uint32_t survivor_at = UINT32_MAX;
    survivor_epoch = begin("survivors");
    for (unsigned i = 0; i < request_count; i++) {
        requests[i].epoch = begin("request");
    }
    for (unsigned slice = 0; slice < SLICES; slice++) {
        for (unsigned i = 0; i < request_count; i++) {
            allocate_slice(&requests[i], &serial, &survivor_at);
        }
    }
}

static void finish_all(void)
{
    for (unsigned i = 0; i < request_count; i++) {
        struct request *request = &requests[(uint64_t)i * STRIDE % request_count];
        objects_drop(request->objects);
        end(request->epoch);
    }
}

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

static void run(void)
{
    requests = table_map(request_count * sizeof *requests);
    const long start = self_rss_kib();
    const double began = cpu_seconds();
    allocate_all();
    const long peak = self_peak_kib();
    const double allocated = cpu_seconds();
    finish_all();
    const double finished = cpu_seconds();
    const long after = self_rss_kib();
    sleep_ms(idle_ms);
    const long later = self_rss_kib();
    give_back();
    const long asked = self_rss_kib();
    printf("{\"requests\": %u, \"objects\": %llu, \"bytes\": %llu, \"survivors\": %u, \"survivor_bytes\": %llu, ",
           request_count, (unsigned long long)request_count * object_count, (unsigned long long)asked_bytes,
           survivor_count, (unsigned long long)survivor_bytes);
    printf("\"start_kib\": %ld, \"peak_kib\": %ld, \"after_kib\": %ld, \"later_kib\": %ld, \"asked_kib\": %ld, ", start,
           peak, after, later, asked);
    printf("\"allocate_seconds\": %.6f, \"finish_seconds\": %.6f}\n", allocated - began, finished - allocated);
    objects_drop(survivors);
    end(survivor_epoch);
}

int main(int count, char **words)
{
    unsigned *const values[] = { &request_count, &object_count, &survivor_count, &idle_ms, &with_epochs };
    for (int i = 1; i < count && i <= 5; i++) {
        *values[i - 1] = (unsigned)strtoul(words[i], NULL, 10);
    }
    const uint64_t all = (uint64_t)request_count * object_count;
    if (count != 6 || request_count >= STRIDE || object_count % SLICES != 0 || survivor_count == 0 ||
        all % survivor_count != 0) {
        fail("wants REQUESTS OBJECTS SURVIVORS IDLE_MS EPOCHS");
    }
    if (with_epochs) {
        require_epochs("scattered");
    }
    run();
    return 0;
}
