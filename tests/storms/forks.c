/*
 * Forks from a process whose other threads allocate all the time, start threads and end them, and live in epochs. Two
 * threads fork at about the same time. Each child must be able to use the whole heap, also what the threads that it
 * does not have had in hand at that moment. A child that hangs is killed, and fails the test; so does a parent that
 * grows with the number of its children.
 *
 *   forks FORKS
 */
#include "figures.h"
#include "storm.h"

#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>

enum {
    CHURNERS = 8,
    STARTERS = 2,
    FORKERS = 2,
    LIVE = 48,
    INHERITED = 64,
    STEPS_BETWEEN = 100, /* of the churners */
    PATIENCE_MS = 60000,
    ALLOWED_KIB = 8192,                  /* what the parent holds at two moments varies by some large messages, */
    ALLOWED_METADATA_BYTES = 512 * 1024, /* and how many threads and epochs it had at once by some records */
};

static atomic_bool done, rest;
static atomic_size_t steps;
static int forks_wanted;
static pthread_barrier_t together;

/* Linux applies this to the calling thread only: who forks, and the children, need not queue behind the others. */
static void stand_back(void)
{
    CHECK(nice(10) != -1);
}

static bool go_on(void)
{
    while (rest && !done) {
        usleep(200);
    }
    return !done;
}

static void *churn(void *argument)
{
    uint64_t random = (uintptr_t)argument * 77777 + 1;
    struct message *messages[LIVE] = { NULL };
    stand_back();
    while (go_on()) {
        atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
        struct message **const at = &messages[below(&random, LIVE)];
        const size_t what = below(&random, 1000);
        if (what == 0) {
            (void)tslab_trim();
        } else if (what < 10) {
            live_in_an_epoch(&random);
        } else if (what < 20 && *at != NULL) {
            *at = message_resize(*at, &random);
        } else if (what < 250) {
            *at = swap_in_flight(&random, *at);
        } else {
            message_free(*at);
            *at = message_new(&random);
        }
    }
    for (size_t i = 0; i < LIVE; i++) {
        message_free(messages[i]);
    }
    return NULL;
}

static tslab_epoch common;

/* Leaves messages to others, and ends inside of an epoch. */
static void *live_shortly(void *argument)
{
    uint64_t random = (uintptr_t)argument + 1;
    for (int i = 0; i < 20; i++) {
        message_free(swap_in_flight(&random, message_new(&random)));
    }
    CHECK(tslab_epoch_enter(common) >= 0);
    tslab_free(tslab_epoch_malloc(common, below(&random, 500)));
    return NULL;
}

static void *start_threads(void *argument)
{
    uint64_t random = (uintptr_t)argument * 1001 + 7;
    stand_back();
    while (go_on()) {
        (void)thread_end(storm_thread(live_shortly, (void *)(uintptr_t)random_next(&random), false));
    }
    return NULL;
}

/* In the child. */

static int forked_once;

static void at_exit(void)
{
    if (forked_once) {
        tslab_free(ends_fill(tslab_malloc(5000), 5000, 1));
    }
}

static void use_epochs(tslab_epoch inside)
{
    CHECK(tslab_epoch_current().id == inside.id);
    tslab_free(ends_fill(tslab_epoch_malloc(inside, 3000), 3000, 3));
    free(keep(malloc(100)));
    STATUS(tslab_epoch_leave(inside), TSLAB_OK);
    uint64_t random = inside.id | 1;
    live_in_an_epoch(&random);
    /* Also those in which threads were that are gone now. */
    static struct tslab_epoch_stats list[64];
    const size_t count = tslab_epoch_list(list, COUNT_OF(list));
    CHECK_SAY(count <= 1 + FORKERS + CHURNERS, "there are %zu epochs", count);
    for (size_t i = 0; i < count; i++) {
        CHECK_SAY(list[i].inside == 0, "%u threads are inside of an epoch", list[i].inside);
        STATUS(tslab_epoch_release(list[i].epoch, i % 8 == 0 ? TSLAB_CLOSE_RECLAIM : 0, NULL), TSLAB_OK);
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

static void await(pid_t child, int number)
{
    CHECK(child > 0);
    const int fd = pidfd_open(child, 0);
    CHECK_SAY(fd >= 0, "pidfd_open: %s", strerror(errno));
    struct pollfd ended = { .fd = fd, .events = POLLIN };
    const int found = poll(&ended, 1, PATIENCE_MS);
    if (found != 1) {
        kill(child, SIGKILL);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && close(fd) == 0);
    CHECK_SAY(found == 1, "child %d hung", number);
    CHECK_SAY(status == 0, "child %d ended with status %#x", number, (unsigned)status);
}

static void use_threads(void)
{
    pthread_t threads[2];
    storm_threads(threads, COUNT_OF(threads), use_every_size, NULL, 0);
    threads_end(threads, COUNT_OF(threads));
}

__attribute__((noreturn)) static void end_child(int number)
{
    switch (number % 4) {
    case 0:
        exit(0);
    case 1:
        execl("/bin/true", "true", (char *)NULL);
        check_failed(__FILE__, __LINE__, "/bin/true cannot be started: %s", strerror(errno));
    default:
        _exit(0);
    }
}

__attribute__((noreturn)) static void run_child(int number, void **inherited, tslab_epoch inside)
{
    forked_once = 1;
    for (size_t i = 0; i < INHERITED; i++) {
        CHECK(pattern_holds(inherited[i], i * 50 + 8, i));
        tslab_free(inherited[i]);
    }
    use_epochs(inside);
    use_every_size(NULL);
    free_in_flight();
    CHECK_SAY(storm_stats().threads == 1, "%zu threads are in the child", storm_stats().threads);
    if (number % 8 == 0) {
        use_threads();
    }
    if (number % 16 == 1) {
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            use_every_size(NULL);
            _exit(0);
        }
        await(grandchild, number);
    }
    end_child(number);
}

/* In the parent. */

struct extent {
    size_t resident_kib;
    size_t metadata_bytes;
    uint32_t records;
};

static void measure(struct extent *most)
{
    const struct tslab_stats stats = storm_stats();
    const size_t kib = resident_kib();
    most->resident_kib = most->resident_kib > kib ? most->resident_kib : kib;
    most->metadata_bytes = stats.metadata_bytes;
    most->records = figure("thread_records");
}

static struct extent early, late; /* at most, in the second and in the last fifth */

/* Long storms say how far they have come: one that is ended before its time has found something out, too. */
static void measure_now_and_then(int round, int rounds)
{
    if (rounds >= 10000 && round > 0 && round % (rounds / 20) == 0) {
        printf("%d forks so far, all well; resident %zu KiB\n", round * FORKERS, resident_kib());
        fflush(stdout);
    }
    if (round % 8 == 0 && round * 5 / rounds == 1) {
        measure(&early);
    } else if (round % 8 == 0 && round * 5 / rounds == 4) {
        measure(&late);
    }
}

/* The others are at work when the process forks, and rest while the children are, so that these get the processor. */
static void fork_amid_work(int number, void **inherited)
{
    const tslab_epoch inside = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(inside) >= 0);
    for (const size_t before = steps; steps - before < STEPS_BETWEEN && !rest;) {
        usleep(50);
    }
    const pid_t child = fork();
    if (child == 0) {
        run_child(number, inherited, inside);
    }
    rest = true;
    await(child, number);
    STATUS(tslab_epoch_leave(inside), TSLAB_OK);
    STATUS(tslab_epoch_close(inside, 0, NULL), TSLAB_OK);
}

static void *fork_again_and_again(void *argument)
{
    const int self = (int)(uintptr_t)argument, rounds = forks_wanted / FORKERS;
    for (int round = 0; round < rounds; round++) {
        void *inherited[INHERITED];
        for (size_t i = 0; i < INHERITED; i++) {
            inherited[i] = tslab_malloc(i * 50 + 8);
            CHECK(inherited[i] != NULL);
            pattern_fill(inherited[i], i * 50 + 8, i);
        }
        fork_amid_work(round * FORKERS + self, inherited);
        for (size_t i = 0; i < INHERITED; i++) {
            CHECK(pattern_holds(inherited[i], i * 50 + 8, i));
            tslab_free(inherited[i]);
        }
        if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD) {
            measure_now_and_then(round, rounds);
            rest = false;
        }
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 2 && (forks_wanted = atoi(argv[1])) >= 100, "usage: forks FORKS (at least 100)");
    CHECK(atexit(at_exit) == 0);
    common = tslab_epoch_open(NULL);
    CHECK(common.id != 0);
    CHECK(pthread_barrier_init(&together, NULL, FORKERS) == 0);
    const double start = seconds();
    pthread_t threads[CHURNERS + STARTERS], forkers[FORKERS];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        threads[i] = storm_thread(i < CHURNERS ? churn : start_threads, (void *)i, false);
    }
    storm_threads(forkers, FORKERS, fork_again_and_again, NULL, 1);
    threads_end(forkers, FORKERS);
    done = true;
    threads_end(threads, COUNT_OF(threads));
    free_in_flight();
    STATUS(tslab_epoch_close(common, 0, NULL), TSLAB_OK);
    printf("%d forks, %.0f in a second; early and late: resident %zu, %zu KiB; metadata %zu, %zu KiB; records %u, %u\n",
           forks_wanted, forks_wanted / (seconds() - start), early.resident_kib, late.resident_kib,
           early.metadata_bytes >> 10, late.metadata_bytes >> 10, early.records, late.records);
    CHECK_SAY(late.resident_kib <= early.resident_kib + ALLOWED_KIB, "the parent has grown with its children");
    CHECK_SAY(late.records <= 1 + CHURNERS + 2 * STARTERS + FORKERS + 1, "the parent has %u thread records",
              late.records);
    CHECK_SAY(late.metadata_bytes <= early.metadata_bytes + ALLOWED_METADATA_BYTES, "the parent's metadata has grown");
    return 0;
}
