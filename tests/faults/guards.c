/* Guard pages end well before the mappings of the process do: a program with many large objects has mappings left for
 * its threads and libraries. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { OBJECTS = 40000, BYTES = 33000, MAPS = 30000 };

static void *objects[OBJECTS];
static void *maps[MAPS];

static void fail(const char *what, size_t number)
{
    fprintf(stderr, "guards: %s (%zu)\n", what, number);
    exit(1);
}

static void *thread(void *unused)
{
    return malloc(100);
}

int main(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = malloc(BYTES);
        if (objects[i] == NULL) {
            fail("no memory for an object", i);
        }
        *(volatile char *)objects[i] = 1;
    }
    pthread_t id;
    void *p = NULL;
    if (pthread_create(&id, NULL, thread, NULL) != 0 || pthread_join(id, &p) != 0 || p == NULL) {
        fail("no thread can be had", 0);
    }
    free(p);
    for (size_t i = 0; i < MAPS; i++) {
        maps[i] = mmap(NULL, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (maps[i] == MAP_FAILED) {
            fail("no mapping is left", i);
        }
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        free(objects[i]);
    }
    return 0;
}
