/*
 * Fork handlers that use the library: registered by another library's constructor, where the loader so decides before
 * the library registers its own, and after; before a fork, in the parent and in the child; of a thread that works, and
 * of one that is nearly gone and forks in a destructor. Meanwhile others allocate.
 *
 *   handlers FORKS
 */
#include "storm.h"

enum { CHURNERS = 3 };

/* Of the other library: */
extern int handlers_run;
extern _Thread_local bool handlers_nearly_gone;
static int own_run;
static atomic_bool done;
static pthread_key_t key;
static _Thread_local bool nearly_gone; /* such a thread cannot enter an epoch */
static pid_t child_of_destructor;

static void *come_and_go(void *argument)
{
    uint64_t random = (uintptr_t)argument + 1;
    for (int i = 0; i < 10; i++) {
        message_free(swap_in_flight(&random, message_new(&random)));
    }
    live_in_an_epoch(&random);
    return NULL;
}

static void *churn(void *argument)
{
    CHECK(nice(10) != -1);
    while (!done) {
        (void)thread_end(storm_thread(come_and_go, argument, false));
    }
    return NULL;
}

static void handle(void)
{
    own_run++;
    use_every_size(NULL);
    uint64_t random = (uint64_t)own_run;
    if (!nearly_gone) {
        live_in_an_epoch(&random);
    }
    (void)storm_stats();
}

__attribute__((noreturn)) static void run_child(void)
{
    alarm(CHILD_HANG_SECONDS);
    CHECK_SAY(own_run % 3 == 2 && handlers_run % 3 == 2, "not all handlers have run");
    use_every_size(NULL);
    free_in_flight();
    (void)thread_end(storm_thread(use_every_size, NULL, false));
    exit(0);
}

/* The last round of destructors: the library has taken leave of this thread. */
static void fork_at_last(void *rounds_left)
{
    const uintptr_t rounds = (uintptr_t)rounds_left;
    if (rounds > 1) {
        CHECK(pthread_setspecific(key, (void *)(rounds - 1)) == 0);
        return;
    }
    nearly_gone = handlers_nearly_gone = true;
    use_every_size(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        use_every_size(NULL);
        _exit(0);
    }
    child_of_destructor = pid;
    use_every_size(NULL);
}

static void *end_with_a_fork(void *unused)
{
    tslab_free(tslab_malloc(100));
    CHECK(pthread_setspecific(key, (void *)3) == 0);
    return unused;
}

int main(int argc, char **argv)
{
    const int forks = argc == 2 ? atoi(argv[1]) : 0;
    CHECK_SAY(forks > 0, "usage: handlers FORKS");
    CHECK(pthread_atfork(handle, handle, handle) == 0);
    CHECK(pthread_key_create(&key, fork_at_last) == 0);
    pthread_t threads[CHURNERS];
    storm_threads(threads, CHURNERS, churn, NULL, 1);
    for (int i = 0; i < forks; i++) {
        own_run = handlers_run = 0;
        const pid_t pid = fork();
        if (pid == 0) {
            run_child();
        }
        child_ends_well(pid);
        (void)thread_end(storm_thread(end_with_a_fork, NULL, false));
        child_ends_well(child_of_destructor);
    }
    done = true;
    threads_end(threads, CHURNERS);
    free_in_flight();
    CHECK_SAY(storm_stats().threads == 1, "%zu threads", storm_stats().threads);
    return 0;
}
