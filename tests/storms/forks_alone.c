/* Forks while other threads allocate and free. The child finds all its parent's objects whole, goes on with them, frees
 * them all, and nothing but what the vanished threads held is lost to it.
 *
 *   forks <forks> */
#include "message.h"
#include "workers.h"

#include <sys/wait.h>

enum { WORKERS = 3, HELD = 200, OWN = 300 };

static struct ring rings[WORKERS];
static atomic_bool done;
static struct message *own[OWN]; /* the forking thread's */

/* Frees what others allocated, so that slots go straight to their slabs at any moment. */
static void *work(void *argument)
{
    const size_t self = (size_t)(uintptr_t)argument;
    uint64_t random = self + 100;
    struct message *held[HELD] = { NULL };
    while (!atomic_load_explicit(&done, memory_order_relaxed)) {
        struct message **const at = &held[below(&random, HELD)];
        message_free(*at);
        *at = message_new(&random);
        if (ring_put(&rings[(self + 1) % WORKERS], *at)) {
            *at = NULL;
        }
        message_free(ring_take(&rings[self]));
        if (below(&random, 2000) == 0) {
            (void)tslab_trim();
        }
    }
    for (size_t i = 0; i < HELD; i++) {
        message_free(held[i]);
    }
    return NULL;
}

static void use_in_child(uint64_t seed)
{
    uint64_t random = seed + 1000;
    for (size_t i = 0; i < OWN; i++) {
        message_free(own[i]);
        own[i] = NULL;
    }
    for (int i = 0; i < 2000; i++) {
        struct message **const at = &own[below(&random, OWN)];
        message_free(*at);
        *at = message_new(&random);
    }
    for (size_t i = 0; i < OWN; i++) {
        message_free(own[i]);
    }
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.threads == 1, "%zu threads in the child", stats.threads);
    CHECK_SAY(stats.cached_bytes == 0, "%zu bytes are cached in the child", stats.cached_bytes);
    CHECK_SAY(stats.dirty_bytes == 0, "%zu bytes are dirty in the child", stats.dirty_bytes);
    /* Objects of the vanished threads live on: their messages and what was in the rings. */
    CHECK_SAY(stats.live_objects <= WORKERS * (HELD + RING + 4), "%zu objects live in the child", stats.live_objects);
}

static void fork_once(int number)
{
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        use_in_child((uint64_t)number);
        _exit(0);
    }
    child_ends_well(pid);
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 2, "usage: forks <forks>");
    uint64_t random = 99;
    pthread_t threads[WORKERS];
    for (size_t i = 0; i < OWN; i++) {
        own[i] = message_new(&random);
    }
    threads_begin(threads, WORKERS, work, NULL, 1);
    const int forks = (int)check_count(argv[1]);
    for (int i = 0; i < forks; i++) {
        fork_once(i);
        struct message **const at = &own[below(&random, OWN)];
        message_free(*at);
        *at = message_new(&random);
    }
    atomic_store(&done, true);
    threads_end(threads, WORKERS);
    struct message *message;
    for (int i = 0; i < WORKERS; i++) {
        while ((message = ring_take(&rings[i])) != NULL) {
            message_free(message);
        }
    }
    for (size_t i = 0; i < OWN; i++) {
        message_free(own[i]);
    }
    check_all_is_back(1);
    return 0;
}
