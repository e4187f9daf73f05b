/* Destructors of thread-specific keys that were made after the library's own run after it, and free what a thread has
 * collected. They work from caches, as the thread did: the library counts what it gives back to slabs, which is all of
 * a record's cache whenever a record was only borrowed. */
#include "check.h"
#include "workers.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { OBJECTS = 2000, THREADS = 4 };

struct object {
    struct object *next;
    char rest[56];
};

static pthread_key_t key;
static int (*stat_get)(const char *name, uint64_t *value);

static uint64_t flushes(void)
{
    uint64_t value = 0;
    CHECK(stat_get == NULL || stat_get("flushes", &value) == 0);
    return value;
}

static struct object *allocate(void)
{
    struct object *first = NULL;
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct object *const object = keep(malloc(sizeof *object));
        CHECK(object != NULL);
        object->next = first;
        first = object;
    }
    return first;
}

static void free_all(struct object *object)
{
    while (object != NULL) {
        struct object *const next = object->next;
        free(object);
        object = next;
    }
}

static void destroy(void *value)
{
    free_all(value);
    free_all(allocate());
}

static void *work(void *unused)
{
    CHECK(pthread_setspecific(key, allocate()) == 0);
    return unused;
}

int main(void)
{
    stat_get = (int (*)(const char *, uint64_t *))dlsym(RTLD_DEFAULT, "tslab_stat_get");
    CHECK(pthread_key_create(&key, destroy) == 0);
    const uint64_t before = flushes();
    in_threads(THREADS, work, NULL, 0);
    const uint64_t passed = flushes() - before;
    CHECK_SAY(passed < THREADS * OBJECTS / 10, "%zu flushes", (size_t)passed);
    return 0;
}
