/*
 * Opens a library of tslab in a program that is already running, uses it through dlsym, closes it, and again: from
 * main, from threads that are older than the library, and from threads that come later.
 *
 *   load LIBRARY...
 */
#include "workers.h"

#include <dlfcn.h>

enum { rounds = 100, workers = 4, live = 500 };

static char **paths;
static size_t path_count;
static pthread_barrier_t opened;

struct functions {
    void *(*allocate)(size_t size);
    void *(*allocate_zeroed)(size_t count, size_t size);
    void *(*resize)(void *block, size_t size);
    void (*release)(void *block);
};

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    CHECK_SAY(found != NULL, "no %s", name);
    return found;
}

static void use(const struct functions *functions)
{
    void *blocks[live];
    for (size_t i = 0; i < live; i++) {
        blocks[i] = i % 2 ? functions->allocate(i * 30) : functions->allocate_zeroed(i, 30);
        CHECK(blocks[i] != NULL);
        pattern_fill(blocks[i], i * 30, i);
    }
    blocks[live - 1] = functions->resize(blocks[live - 1], 200000);
    for (size_t i = 0; i < live; i++) {
        CHECK(pattern_holds(blocks[i], i * 30, i));
        functions->release(blocks[i]);
    }
}

static void open_use_close(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK_SAY(library != NULL, "%s", dlerror());
    struct functions functions;
    *(void **)&functions.allocate = find(library, "tslab_malloc");
    *(void **)&functions.allocate_zeroed = find(library, "tslab_calloc");
    *(void **)&functions.resize = find(library, "tslab_realloc");
    *(void **)&functions.release = find(library, "tslab_free");
    use(&functions);
    void *mine = malloc(1000);
    use(&functions);
    free(mine);
    CHECK(dlclose(library) == 0);
}

static void *work(void *argument)
{
    if (argument != NULL)
        pthread_barrier_wait(&opened);
    for (size_t i = 0; i < rounds; i++)
        open_use_close(paths[i % path_count]);
    return NULL;
}

static void *use_once(void *path)
{
    open_use_close(path);
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc > 1, "usage: %s LIBRARY...", argv[0]);
    paths = argv + 1;
    path_count = (size_t)argc - 1;

    pthread_t threads[workers];
    pthread_barrier_init(&opened, NULL, workers + 1);
    threads_begin(threads, workers, work, &opened, 0);
    work(NULL);
    pthread_barrier_wait(&opened);
    threads_end(threads, workers);

    /* The library is closed when these end, and so runs their destructors, if it has any, when nobody holds it open. */
    for (size_t i = 0; i < rounds; i++)
        (void)in_a_thread(use_once, paths[i % path_count]);
    return 0;
}
