/* Work that most parts of the library take part in: threads that allocate all sizes, free what others have allocated,
 * use epochs and instances, and a child of a fork. Memory may be scarce. usage: every_option LIBRARY, which is loaded
 * unless it is there already. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tslab/tslab.h>
#include <unistd.h>

enum { THREADS = 4, OBJECTS = 300, ROUNDS = 3 };

static void *(*get)(size_t size);
static void *(*resize)(void *p, size_t size);
static void (*drop)(void *p);
static tslab_epoch (*open_epoch)(const struct tslab_epoch_options *options);
static enum tslab_status (*enter)(tslab_epoch epoch), (*leave)(tslab_epoch epoch);
static enum tslab_status (*close_epoch)(tslab_epoch epoch, tslab_close_flags flags, struct tslab_epoch_report *report);
static size_t (*trim)(void);

static void *objects[THREADS][OBJECTS];
static pthread_barrier_t turn;

static void in_an_epoch(void)
{
    const tslab_epoch epoch = open_epoch(NULL);
    if (epoch.id != 0 && enter(epoch) >= 0) {
        for (size_t i = 1; i < OBJECTS; i++) {
            char *const p = get(i * 40);
            if (p != NULL) {
                p[0] = p[i * 40 - 1] = 1;
            }
            if (i % 3 != 0) {
                drop(p);
            }
        }
        (void)leave(epoch);
        (void)close_epoch(epoch, TSLAB_CLOSE_RECLAIM, NULL);
    }
}

static void *work(void *argument)
{
    const size_t number = (size_t)(char *)argument;
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < OBJECTS; i++) {
            const size_t size = i % 50 == 0 ? 300000 + i * 1000 : (i * i + round * 7) % 5000 + 1;
            char *p = get(size);
            if (p != NULL) {
                memset(p, (int)i, size < 8192 ? size : 8192);
                char *const longer = i % 5 == 0 ? resize(p, size * 2) : NULL;
                p = longer != NULL ? longer : p;
            }
            objects[number][i] = p;
        }
        in_an_epoch();
        pthread_barrier_wait(&turn);
        for (size_t i = 0; i < OBJECTS; i++) {
            drop(objects[(number + round) % THREADS][i]);
        }
        pthread_barrier_wait(&turn);
    }
    (void)trim();
    return NULL;
}

/* A function of the library. */
static void *function(void *library, const char *name)
{
    void *const found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "there is no %s\n", name);
        exit(2);
    }
    return found;
}

int main(int argc, char **argv)
{
    void *const library = dlopen(argc > 1 ? argv[1] : NULL, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    *(void **)&get = function(library, "tslab_malloc");
    *(void **)&resize = function(library, "tslab_realloc");
    *(void **)&drop = function(library, "tslab_free");
    *(void **)&open_epoch = function(library, "tslab_epoch_open");
    *(void **)&enter = function(library, "tslab_epoch_enter");
    *(void **)&leave = function(library, "tslab_epoch_leave");
    *(void **)&close_epoch = function(library, "tslab_epoch_close");
    *(void **)&trim = function(library, "tslab_trim");
    pthread_t threads[THREADS];
    pthread_barrier_init(&turn, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (char *)NULL + i) != 0) {
            return 3; /* no memory */
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    const pid_t child = fork();
    if (child == 0) {
        drop(get(100));
        in_an_epoch();
        _exit(0);
    }
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) {
        fprintf(stderr, "the child ended with %#x\n", (unsigned)status);
        return 4;
    }
    puts("done");
    return 0;
}
