/* Many threads at once, and threads whose stacks are as small as can be. */
#include "check.h"

#include <limits.h>
#include <pthread.h>

enum { many = 200, each = 100 };

static pthread_barrier_t barrier;
static void *blocks[many][each];

static size_t size_of(size_t thread, size_t place)
{
    return (thread * 37 + place * 101) % 3000 + (place == 0 ? 60000 : 1);
}

/* All allocate, all wait for all, and each frees what its neighbour allocated. */
static void *allocate_and_free(void *argument)
{
    size_t self = (size_t)(uintptr_t)argument, neighbour = (self + 1) % many;
    for (size_t i = 0; i < each; i++) {
        blocks[self][i] = malloc(size_of(self, i));
        CHECK(blocks[self][i] != NULL);
        pattern_fill(blocks[self][i], size_of(self, i), self * each + i);
    }
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < each; i++) {
        CHECK(pattern_holds(blocks[neighbour][i], size_of(neighbour, i), neighbour * each + i));
        free(blocks[neighbour][i]);
    }
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void *use_little_stack(void *unused)
{
    (void)unused;
    void *kept[8];
    for (size_t size = 1; size < 400000; size += 1 + size / 4) {
        for (size_t i = 0; i < COUNT_OF(kept); i++) {
            kept[i] = i % 2 ? malloc(size) : calloc(1, size);
            CHECK(kept[i] != NULL);
            memset(kept[i], 1, size);
        }
        kept[0] = realloc(kept[0], size * 2);
        for (size_t i = 0; i < COUNT_OF(kept); i++)
            free(kept[i]);
    }
    void *aligned = aligned_alloc(4096, 100);
    CHECK(aligned != NULL);
    free(aligned);
    return NULL;
}

static void run_threads(size_t count, size_t stack_size, void *(*run)(void *))
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK(stack_size == 0 || pthread_attr_setstacksize(&attributes, stack_size) == 0);
    pthread_t threads[many];
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], &attributes, run, (void *)(uintptr_t)i) == 0);
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    pthread_attr_destroy(&attributes);
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, many);
    for (int round = 0; round < 5; round++)
        run_threads(many, 0, allocate_and_free);
    run_threads(many, 64 << 10, allocate_and_free);
    run_threads(many, 64 << 10, use_little_stack);
    for (int round = 0; round < 5; round++)
        run_threads(20, (size_t)PTHREAD_STACK_MIN, use_little_stack);
    return 0;
}
