/*
 * Threads that are cancelled. With deferred cancellation a thread ends where its own code allows it, never inside of
 * the library: no function of it is a cancellation point. With asynchronous cancellation, which a program may allow
 * only where it does not allocate, it ends anywhere there. Either way its cleanup handlers and destructors allocate and
 * free, and nothing stays behind.
 *
 *   cancel THREADS
 */
#include "storm.h"

enum { WAVE = 8, LIVE = 40 };

static int null_fd;
static tslab_epoch common;

/* Each function with a cancellation pending, which the first cancellation point would follow. */

static void allocate(void)
{
    use_every_size(NULL);
}

static void report_survivors(void)
{
    const struct tslab_epoch_options options = { .policy = TSLAB_POLICY_REPORT };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    void *const survivor = tslab_epoch_malloc(epoch, 100);
    const int said_fd = dup(STDERR_FILENO);
    CHECK(said_fd >= 0 && dup2(null_fd, STDERR_FILENO) == STDERR_FILENO);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    CHECK(dup2(said_fd, STDERR_FILENO) == STDERR_FILENO);
    tslab_free(survivor);
}

static void reclaim(void)
{
    tslab_epoch epoch = tslab_epoch_open(NULL);
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_advance(&epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
}

static void trim(void)
{
    tslab_free(tslab_malloc(1000000));
    (void)tslab_trim();
}

static void print_statistics(void)
{
    tslab_stats_print(null_fd);
    tslab_stats_json(null_fd);
}

static void (*const functions[])(void) = { allocate, report_survivors, reclaim, trim, print_statistics };
static bool returned[COUNT_OF(functions)];

static void *call_when_cancelled(void *argument)
{
    const size_t which = (size_t)(uintptr_t)argument;
    CHECK(pthread_cancel(pthread_self()) == 0);
    functions[which]();
    returned[which] = true;
    pthread_testcancel();
    return NULL;
}

static void test_no_cancellation_point(void)
{
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        const pthread_t thread = storm_thread(call_when_cancelled, (void *)i, false);
        void *result;
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        CHECK_SAY(returned[i], "function %zu is a cancellation point", i);
    }
}

/* The storm. */

struct life {
    uint64_t random;
    struct message *messages[LIVE];
    atomic_size_t steps;
};

static pthread_key_t key;

static void free_at_last(void *message)
{
    message_free(message);
}

static void clean_up(void *argument)
{
    struct life *const life = argument;
    for (size_t i = 0; i < LIVE; i++) {
        message_free(life->messages[i]);
    }
    CHECK(pthread_setspecific(key, message_new(&life->random)) == 0);
}

static void step(struct life *life)
{
    struct message **const at = &life->messages[below(&life->random, LIVE)];
    if (below(&life->random, 50) == 0) {
        live_in_an_epoch(&life->random);
    } else if (below(&life->random, 4) == 0) {
        *at = swap_in_flight(&life->random, *at);
    } else {
        message_free(*at);
        *at = message_new(&life->random);
    }
}

static void run(struct life *life, bool asynchronous)
{
    int before;
    for (;; life->steps++) {
        step(life);
        if (asynchronous) {
            CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before) == 0);
            storm_compute();
            CHECK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before) == 0);
        } else {
            pthread_testcancel();
        }
    }
}

static struct life lives[WAVE];

/* One in two is inside of an epoch all the time, and ends there. */
static void *live(void *argument)
{
    const size_t self = (size_t)(uintptr_t)argument;
    if (self % 2 == 0) {
        CHECK(tslab_epoch_enter(common) >= 0);
        tslab_free(tslab_epoch_malloc(common, 100));
    }
    pthread_cleanup_push(clean_up, &lives[self]);
    run(&lives[self], self % 4 < 2);
    pthread_cleanup_pop(1);
    return NULL;
}

static void wave(uint64_t seed)
{
    pthread_t threads[WAVE];
    memset(lives, 0, sizeof lives);
    for (size_t i = 0; i < WAVE; i++) {
        lives[i].random = seed * WAVE + i + 1;
        threads[i] = storm_thread(live, (void *)i, false);
    }
    for (size_t i = 0; i < WAVE; i++) {
        while (lives[i].steps < 5) {
            sched_yield();
        }
        CHECK(pthread_cancel(threads[i]) == 0);
    }
    for (size_t i = 0; i < WAVE; i++) {
        void *result;
        CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
}

int main(int argc, char **argv)
{
    const int count = argc == 2 ? atoi(argv[1]) : 0;
    CHECK_SAY(count >= WAVE, "usage: cancel THREADS (at least %d)", WAVE);
    null_fd = open("/dev/null", O_WRONLY);
    CHECK(null_fd >= 0);
    test_no_cancellation_point();
    CHECK(pthread_key_create(&key, free_at_last) == 0);
    common = tslab_epoch_open(NULL);
    for (int i = 0; i < count / WAVE; i++) {
        wave((uint64_t)i);
    }
    free_in_flight();
    STATUS(tslab_epoch_close(common, 0, NULL), TSLAB_OK);
    const struct tslab_stats stats = storm_stats();
    CHECK_SAY(stats.threads <= 1, "%zu threads", stats.threads);
    CHECK_SAY(stats.live_bytes < 64 << 10, "%zu bytes live", stats.live_bytes);
    CHECK(stats.epochs_open == 0 && stats.epochs_draining == 0);
    return 0;
}
