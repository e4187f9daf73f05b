// fork: a parent with live objects forks one child after another. Each child checks what it inherited, frees a part of
// it, which is its own copy, allocates, frees that, and ends. An operation is the life of one child.

#include "pattern.h"

#include <sys/wait.h>

enum { PARENT, CHILDREN, ACTORS };
enum {
    FREED_PART = 8,    // one of so many of the inherited objects is freed,
    REPLACED_PART = 4, // and by the parent, between two forks, replaced
};

#define PARAMETERS(X) X(fork_count, 1, ANY) X(live_count, 1, ANY) X(child_objects, 1, ANY)
PARAMETERS(PARAMETER_VARIABLE)

static actor *actors; // shared with the children, so that what they did is counted
static void **live;
static void **own;

// The sums of an actor for what is inherited are the child's alone: the parent goes on owning its objects.
static void child_work(void)
{
    actor heir = actors[CHILDREN];
    for (uint32_t i = 0; i < live_count; i++) {
        object_check(&heir, live[i]);
    }
    for (uint32_t i = 0; i < live_count; i += FREED_PART) {
        object_drop(&heir, live[i]);
    }
    actor *a = &actors[CHILDREN];
    for (uint32_t i = 0; i < child_objects; i++) {
        own[i] = object_make(a, low_between(random_next(a), 16, 512));
    }
    for (uint32_t i = 0; i < child_objects; i++) {
        object_drop(a, own[i]);
    }
}

static void fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        child_work();
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        fail("cannot fork");
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail("a child has died");
    }
}

static void forks(uint64_t times)
{
    actor *a = &actors[PARENT];
    for (uint64_t i = 0; i < times; i++) {
        for (uint32_t place = i % REPLACED_PART; place < live_count; place += REPLACED_PART) {
            object_drop(a, live[place]);
            live[place] = object_make(a, low_between(random_next(a), 16, 512));
        }
        fork_once();
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    actors = mmap(NULL, ACTORS * sizeof *actors, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (actors == MAP_FAILED) {
        fail("cannot map a table");
    }
    for (unsigned i = 0; i < ACTORS; i++) {
        actor_init(&actors[i], i);
        actors[i].latency = LATENCY ? latency_record_new() : NULL; // known before the first fork
    }
    live = table_map(live_count * sizeof *live);
    own = table_map(child_objects * sizeof *own);
    base_measure();
    actor *a = &actors[PARENT];
    for (uint32_t i = 0; i < live_count; i++) {
        live[i] = object_make(a, low_between(random_next(a), 16, 512));
    }
    live_sample(actors, ACTORS);
    forks(fork_count / 10 + 1);
    double start = wall_begin();
    forks(fork_count);
    double seconds = wall_end(start);
    for (uint32_t i = 0; i < live_count; i++) {
        object_drop(a, live[i]);
    }
    fact rate = { "forks_per_second", (double)fork_count / seconds };
    report(fork_count, seconds, actors, ACTORS, &rate, 1);
    return 0;
}
