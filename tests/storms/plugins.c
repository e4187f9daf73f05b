/*
 * Opens and closes plugins again and again, used by this thread, by one that comes and goes while the plugin is open,
 * and by one that outlives it. Nothing may grow with the number of times.
 *
 *   plugins loop TIMES PLUGIN...
 *   plugins apart LIBRARY          opens a library in a namespace of its own, with a libc of its own
 */
#include "workers.h"

#include <dlfcn.h>
#include <stdatomic.h>

enum { WORKERS = 4, ALLOWED_KIB = 1024 };

static pthread_barrier_t turn;
static void (*use)(void);

static void *use_once(void *unused)
{
    use();
    return unused;
}

static void *use_each_time(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&turn);
        if (use == NULL) {
            return unused;
        }
        use();
        pthread_barrier_wait(&turn);
    }
}

static void open_use_close(const char *path)
{
    void *const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK_SAY(plugin != NULL, "%s", dlerror());
    *(void **)&use = dlsym(plugin, "plugin_use");
    CHECK_SAY(use != NULL, "%s", dlerror());
    use();
    (void)in_a_thread(use_once, NULL);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    CHECK(dlclose(plugin) == 0);
}

static void loop(int times, int count, char **paths)
{
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    const pthread_t outlives = thread_begin(use_each_time, NULL);
    size_t early_kib = 0, early_mapped_kib = 0;
    for (int i = 0; i < times; i++) {
        for (int plugin = 0; plugin < count; plugin++) {
            open_use_close(paths[plugin]);
        }
        if (i == times / 5) {
            early_kib = resident_kib();
            early_mapped_kib = mapped_kib();
        }
    }
    const size_t late_kib = resident_kib(), late_mapped_kib = mapped_kib();
    use = NULL;
    pthread_barrier_wait(&turn);
    (void)thread_end(outlives);
    setlinebuf(stdout);
    printf("resident %zu, then %zu KiB; mapped %zu, then %zu KiB\n", early_kib, late_kib, early_mapped_kib,
           late_mapped_kib);
    CHECK_SAY(late_kib <= early_kib + ALLOWED_KIB, "memory grows with the times that a plugin is opened");
    CHECK_SAY(late_mapped_kib <= early_mapped_kib + ALLOWED_KIB,
              "addresses are lost each time that a plugin is opened");
}

/* The library is there twice now, and neither knows of the other. */

static void *(*allocate)(size_t);
static void (*release)(void *);

static void *use_both(void *unused)
{
    void *ours[100], *theirs[100];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < COUNT_OF(ours); i++) {
            ours[i] = malloc(i * 50);
            theirs[i] = allocate(i * 50);
            CHECK(ours[i] != NULL && theirs[i] != NULL && ours[i] != theirs[i]);
            pattern_fill(ours[i], i * 50, i);
            pattern_fill(theirs[i], i * 50, i + 1);
        }
        for (size_t i = 0; i < COUNT_OF(ours); i++) {
            CHECK(pattern_holds(ours[i], i * 50, i) && pattern_holds(theirs[i], i * 50, i + 1));
            free(ours[i]);
            release(theirs[i]);
        }
    }
    return unused;
}

static void apart(const char *path)
{
    void *const library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    CHECK_SAY(library != NULL, "%s", dlerror());
    *(void **)&allocate = dlsym(library, "tslab_malloc");
    *(void **)&release = dlsym(library, "tslab_free");
    CHECK(allocate != NULL && release != NULL);
    use_both(NULL);
    for (int round = 0; round < 20; round++) {
        in_threads(WORKERS, use_both, NULL, 0);
    }
    CHECK(dlclose(library) == 0);
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "loop") == 0 && atoi(argv[2]) >= 10) {
        loop(atoi(argv[2]), argc - 3, argv + 3);
    } else {
        CHECK_SAY(argc == 3 && strcmp(argv[1], "apart") == 0,
                  "usage: plugins loop TIMES (at least 10) PLUGIN... | plugins apart LIBRARY");
        apart(argv[2]);
    }
    return 0;
}
