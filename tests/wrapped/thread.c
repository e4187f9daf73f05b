/* A library to be preloaded that wraps pthread_create as profilers and collectors do: what it notes of a thread is
 * allocated in the new thread, before the program's function runs, and freed after it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef void *routine(void *);

struct errand {
    routine *run;
    void *argument;
};

static void *run_noted(void *given)
{
    const struct errand errand = *(struct errand *)given;
    free(given);
    char *volatile note = calloc(1, 5000);
    void *const result = errand.run(errand.argument);
    free(note);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, routine *run, void *argument)
{
    int (*const next)(pthread_t *, const pthread_attr_t *, routine *, void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, routine *, void *))dlsym(RTLD_NEXT, "pthread_create");
    struct errand *const errand = malloc(sizeof *errand);
    *errand = (struct errand){ run, argument };
    return next(thread, attributes, run_noted, errand);
}
