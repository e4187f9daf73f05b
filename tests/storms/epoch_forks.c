/* Forks inside of a scope, while other threads are inside of epochs and at work. The child is alone: the others' scopes
 * are left in it, every epoch can be used, closed and released, and what was alive is whole.
 *
 *   ambient-fork <forks> */
#include "epoch.h"

enum { WORKERS = 4, EPOCHS = 6, HELD = 100, OWN = 200 };

static tslab_epoch epochs[EPOCHS];
static bool ours; /* plain malloc */
static atomic_bool done, rest;
static atomic_size_t steps;

struct held {
    char *p;
    size_t size;
    tslab_epoch epoch;
    tslab_handle handle;
};

static struct held own[OWN]; /* the forking thread's */

static void drop(struct held *held)
{
    if (held->p != NULL) {
        verify(held->p, held->size, held->size);
        if (held->handle.id != 0) {
            STATUS(tslab_handle_free(held->epoch, held->handle), TSLAB_OK);
        } else {
            tslab_free(held->p);
        }
    }
    held->p = NULL;
}

static void renew(struct held *held, tslab_epoch epoch, uint64_t *random)
{
    drop(held);
    *held = (struct held){ .size = some_size(random), .epoch = epoch };
    void *p = NULL;
    if (held->size < 1000 && below(random, 4) == 0) {
        held->handle = tslab_handle_malloc(epoch, held->size, &p);
    } else {
        p = tslab_epoch_malloc(epoch, held->size);
    }
    held->p = fill(p, held->size, held->size);
}

static void *work(void *argument)
{
    uint64_t random = (uintptr_t)argument + 50;
    struct held held[HELD] = { { NULL, 0, { 0 }, { 0 } } };
    while (!atomic_load_explicit(&done, memory_order_relaxed)) {
        if (atomic_load_explicit(&rest, memory_order_relaxed)) {
            usleep(200);
            continue;
        }
        atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
        const tslab_epoch epoch = epochs[below(&random, EPOCHS)], other = epochs[below(&random, EPOCHS)];
        enter(epoch);
        for (size_t i = below(&random, 20); i > 0; i--) {
            renew(&held[below(&random, HELD)], epoch, &random);
            renew(&held[below(&random, HELD)], other, &random);
        }
        if (below(&random, 2) == 0) {
            enter(other);
            tslab_free(tslab_malloc(some_size(&random)));
            leave(other);
        }
        leave(epoch);
        /* Short ones, so that a fork meets openings and closings, too. */
        const tslab_epoch brief =
            opened_as("brief", below(&random, 2) == 0 ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN);
        enter(brief);
        for (size_t i = below(&random, 30); i > 0; i--) {
            (void)filled(brief, some_size(&random), i);
        }
        leave(brief);
        STATUS(tslab_epoch_release(brief, below(&random, 10) == 0 ? TSLAB_CLOSE_RECLAIM : 0, NULL), TSLAB_OK);
    }
    for (size_t i = 0; i < HELD; i++) {
        drop(&held[i]);
    }
    return NULL;
}

static void *use_in_child(void *argument)
{
    uint64_t random = (uintptr_t)argument + 1;
    for (size_t i = 0; i < EPOCHS; i++) {
        struct held held[50] = { { NULL, 0, { 0 }, { 0 } } };
        enter(epochs[i]);
        for (size_t n = 0; n < 200; n++) {
            renew(&held[below(&random, COUNT_OF(held))], epochs[i], &random);
        }
        leave(epochs[i]);
        for (size_t n = 0; n < COUNT_OF(held); n++) {
            drop(&held[n]);
        }
    }
    return NULL;
}

static void run_child(uint64_t number)
{
    alarm(CHILD_HANG_SECONDS);
    /* This thread is where it was. The others are nowhere. */
    CHECK(same(tslab_epoch_current(), epochs[number % EPOCHS]));
    for (size_t i = 0; i < EPOCHS; i++) {
        CHECK_SAY(stats_of(epochs[i]).inside == (i == number % EPOCHS), "%u threads are inside of epoch %zu",
                  stats_of(epochs[i]).inside, i);
    }
    void *const plain = malloc(100);
    if (ours) {
        CHECK(same(tslab_epoch_of(plain), tslab_epoch_current()));
    }
    free(plain);
    for (size_t i = 0; i < OWN; i++) {
        if (i % 2 == 0) {
            drop(&own[i]);
        } else {
            uint64_t random = number + i + 1;
            renew(&own[i], epochs[i % EPOCHS], &random);
        }
    }
    (void)use_in_child((void *)(uintptr_t)number);
    if (number % 4 == 0) {
        in_a_thread(use_in_child, (void *)(uintptr_t)number);
    }
    leave(epochs[number % EPOCHS]);
    for (size_t i = 0; i < OWN; i++) {
        drop(&own[i]);
    }
    /* The brief ones of the vanished threads, in whatever state they were. */
    static struct tslab_epoch_stats list[64];
    const size_t count = tslab_epoch_list(list, COUNT_OF(list));
    CHECK_SAY(count <= EPOCHS + WORKERS, "there are %zu epochs", count);
    for (size_t i = 0; i < count; i++) {
        CHECK(list[i].inside == 0);
        struct tslab_epoch_report report;
        if (i % 2 == 0 && list[i].state == TSLAB_EPOCH_OPEN) {
            STATUS(tslab_epoch_close(list[i].epoch, 0, &report), TSLAB_OK);
            CHECK(report.survivors == list[i].live_objects);
        }
        if (tslab_epoch_stats_get(list[i].epoch, &list[i]) == TSLAB_OK) {
            STATUS(tslab_epoch_release(list[i].epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
        }
        check_gone(list[i].epoch);
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.threads == 1, "%zu threads", stats.threads);
    _exit(0);
}

static void fork_once(uint64_t number)
{
    const tslab_epoch epoch = epochs[number % EPOCHS];
    atomic_store(&rest, false);
    for (const size_t before = atomic_load(&steps); atomic_load(&steps) - before < 20;) {
        usleep(100);
    }
    enter(epoch);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        run_child(number);
    }
    atomic_store(&rest, true); /* so that the child gets a processor */
    CHECK(same(tslab_epoch_current(), epoch));
    leave(epoch);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_SAY(status == 0, "child %llu ended with status %#x", (unsigned long long)number, (unsigned)status);
}

static tslab_epoch lone;
static atomic_bool is_inside;

static void *stay_inside(void *unused)
{
    enter(lone);
    (void)filled(lone, 100, 1);
    atomic_store(&is_inside, true);
    while (!atomic_load(&done)) {
        usleep(200);
    }
    leave(lone);
    return unused;
}

static void *find_it_gone(void *unused)
{
    check_gone(lone);
    return unused;
}

/* In the child, the record of a thread that is gone serves the next: which is inside of nothing. */
static void fork_while_another_is_inside(void)
{
    lone = opened_as("lone", TSLAB_POLICY_RELEASE);
    const pthread_t thread = thread_begin(stay_inside, NULL);
    while (!atomic_load(&is_inside)) {
        usleep(200);
    }
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        STATUS(tslab_epoch_release(lone, 0, NULL), TSLAB_OK);
        in_a_thread(find_it_gone, NULL);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_SAY(status == 0, "the child ended with status %#x", (unsigned)status);
    atomic_store(&done, true);
    (void)thread_end(thread);
    atomic_store(&done, false);
    STATUS(tslab_epoch_close(lone, 0, NULL), TSLAB_OK);
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 2, "usage: ambient-fork <forks>");
    const uint64_t forks = check_count(argv[1]);
    uint64_t random = 7;
    ours = malloc_is_ours();
    fork_while_another_is_inside();
    for (size_t i = 0; i < EPOCHS; i++) {
        epochs[i] = opened_as("long", TSLAB_POLICY_DRAIN);
    }
    for (size_t i = 0; i < OWN; i++) {
        renew(&own[i], epochs[i % EPOCHS], &random);
    }
    pthread_t threads[WORKERS];
    threads_begin(threads, WORKERS, work, NULL, 1);
    for (uint64_t number = 0; number < forks; number++) {
        fork_once(number);
        renew(&own[number % OWN], epochs[number % EPOCHS], &random);
    }
    atomic_store(&done, true);
    threads_end(threads, WORKERS);
    for (size_t i = 0; i < OWN; i++) {
        drop(&own[i]);
    }
    for (size_t i = 0; i < EPOCHS; i++) {
        ALIVE(epochs[i], 0);
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
    return 0;
}
