/* Threads allocate, pass objects on in a circle, resize and free them, and come and go; what a thread leaves behind,
 * its successor takes over. Beside them one thread asks for statistics and another trims, all the time.
 *
 *   traffic <generations> <operations of each thread> */
#include "figures.h"
#include "message.h"
#include "workers.h"

#include <fcntl.h>

enum { WORKERS = 4, HELD = 400 };

struct worker {
    struct ring inbox;
    struct message *held[HELD];
    uint64_t random;
    size_t number;
};

static struct worker workers[WORKERS];
static size_t operations;
static atomic_bool done;

/* A place may be taken already: what was there is freed, wherever it came from. */
static void hold(struct worker *worker, struct message *message)
{
    const size_t at = below(&worker->random, HELD);
    message_free(worker->held[at]);
    worker->held[at] = message;
}

static struct message *let_go(struct worker *worker)
{
    const size_t at = below(&worker->random, HELD);
    struct message *const message = worker->held[at];
    worker->held[at] = NULL;
    return message;
}

static void pass_on(struct worker *worker, struct message *message)
{
    if (message != NULL && !ring_put(&workers[(worker->number + 1) % WORKERS].inbox, message)) {
        message_free(message);
    }
}

static void step(struct worker *worker)
{
    struct message *message;
    switch (below(&worker->random, 16)) {
    case 0 ... 4:
        hold(worker, message_new(&worker->random));
        break;
    case 5 ... 6:
        message_free(let_go(worker));
        break;
    case 7 ... 10:
        pass_on(worker, message_new(&worker->random));
        break;
    case 11:
        pass_on(worker, let_go(worker));
        break;
    case 12:
        message = let_go(worker);
        if (message != NULL) {
            message_verify(message);
            hold(worker, message_resize(message, &worker->random));
        }
        break;
    default:
        message = ring_take(&worker->inbox);
        if (message == NULL) {
            break;
        }
        message_verify(message);
        if (below(&worker->random, 8) == 0) {
            hold(worker, message_resize(message, &worker->random));
        } else if (below(&worker->random, 4) == 0) {
            hold(worker, message);
        } else {
            message_free(message);
        }
    }
}

static void *work(void *argument)
{
    struct worker *const worker = argument;
    for (size_t i = 0; i < operations; i++) {
        step(worker);
    }
    return NULL;
}

static void *ask_for_statistics(void *argument)
{
    (void)argument;
    const int nowhere = open("/dev/null", O_WRONLY);
    CHECK(nowhere >= 0);
    while (!atomic_load(&done)) {
        struct tslab_stats stats;
        tslab_stats_get(&stats);
        CHECK(stats.committed_bytes <= figure("reserved_bytes"));
        CHECK(stats.dirty_bytes <= stats.committed_bytes);
        tslab_stats_print(nowhere);
        usleep(500);
    }
    close(nowhere);
    return NULL;
}

static void *trim(void *argument)
{
    (void)argument;
    while (!atomic_load(&done)) {
        tslab_free(keep(tslab_malloc(100)));
        (void)tslab_trim();
        usleep(2000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 3, "usage: traffic <generations> <operations>");
    const int generations = (int)check_count(argv[1]);
    operations = check_count(argv[2]);
    pthread_t others[] = { thread_begin(ask_for_statistics, NULL), thread_begin(trim, NULL) }, threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        workers[i].random = i + 1;
        threads[i] = thread_begin(work, &workers[i]);
    }
    /* One thread at a time is replaced, so that others use what the dead one left. */
    for (int i = 1; i < generations * WORKERS; i++) {
        (void)thread_end(threads[i % WORKERS]);
        threads[i % WORKERS] = thread_begin(work, &workers[i % WORKERS]);
    }
    threads_end(threads, WORKERS);
    atomic_store(&done, true);
    threads_end(others, COUNT_OF(others));
    struct message *message;
    for (size_t i = 0; i < WORKERS; i++) {
        while ((message = ring_take(&workers[i].inbox)) != NULL) {
            message_free(message);
        }
        for (size_t k = 0; k < HELD; k++) {
            message_free(workers[i].held[k]);
        }
    }
    check_all_is_back(1);
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    /* A thread that begins passes over a record that is emptied just then, by the thread that trims or the keeper. */
    enum { THREADS = WORKERS + 3, EMPTIED = 2 };
    CHECK_SAY(figure("thread_records") <= THREADS + EMPTIED, "%zu records for %d threads at once",
              (size_t)figure("thread_records"), THREADS);
    return 0;
}
