/* A report that nobody reads yet: stderr is a full pipe, and a thread that says what has survived an epoch waits.
 * Nobody else does: another thread forks, and a new one starts and allocates. Then the line is read, whole.
 *
 *   close, advance  the thread closes the epoch, or goes on to the next
 *   leave, exit     it is the last to leave a closed epoch, or ends in it
 *   child           the child of a fork finishes a closed epoch that only a thread was in that it does not have */
#include "workers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

static const char *what;
static int ends[2];
static tslab_epoch epoch;
static pthread_barrier_t inside, closed;
static atomic_int speaker;

static void *speak(void *unused)
{
    CHECK(tslab_epoch_enter(epoch) >= 0);
    CHECK(tslab_epoch_malloc(epoch, 100) != NULL);
    if (strcmp(what, "close") == 0) {
        CHECK(tslab_epoch_leave(epoch) == TSLAB_OK);
    }
    pthread_barrier_wait(&inside);
    pthread_barrier_wait(&closed);
    speaker = (int)syscall(SYS_gettid);
    if (strcmp(what, "close") == 0) {
        CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    } else if (strcmp(what, "advance") == 0) {
        CHECK(tslab_epoch_advance(&epoch, 0, NULL) == TSLAB_OK);
        CHECK(tslab_epoch_leave(epoch) == TSLAB_OK);
    } else if (strcmp(what, "leave") == 0) {
        CHECK(tslab_epoch_leave(epoch) == TSLAB_OK);
    }
    return unused;
}

static void *allocate(void *unused)
{
    for (size_t size = 8; size < 100000; size *= 2) {
        tslab_free(tslab_malloc(size));
    }
    return unused;
}

static void await_sleep(int task)
{
    char path[64], state[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", task); /* of a thread, too */
    for (int asleep = 0; asleep < 20;) {
        const int descriptor = open(path, O_RDONLY);
        CHECK(descriptor >= 0 && read(descriptor, state, sizeof state - 1) > 0 && close(descriptor) == 0);
        asleep = strstr(state, ") S ") != NULL ? asleep + 1 : 0;
        usleep(1000);
    }
}

static void await_speaker(void)
{
    while (speaker == 0) {
        usleep(1000);
    }
    await_sleep(speaker);
}

/* Fills the pipe; how much was that. */
static size_t fill(void)
{
    static const char filler[4096];
    size_t filled = 0;
    ssize_t n;
    CHECK(pipe(ends) == 0);
    CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    for (size_t at_once = sizeof filler; at_once > 0; at_once = at_once == 1 ? 0 : 1) {
        while ((n = write(ends[1], filler, at_once)) > 0) {
            filled += (size_t)n;
        }
    }
    CHECK(fcntl(ends[1], F_SETFL, 0) == 0);
    return filled;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    what = argv[1];
    alarm(HANG_SECONDS);
    const struct tslab_epoch_options options = { .label = "unread", .policy = TSLAB_POLICY_REPORT };
    epoch = tslab_epoch_open(&options);
    CHECK(pthread_barrier_init(&inside, NULL, 2) == 0 && pthread_barrier_init(&closed, NULL, 2) == 0);
    const pthread_t thread = thread_begin(speak, NULL);
    pthread_barrier_wait(&inside);
    const bool in_child = strcmp(what, "child") == 0;
    if (in_child || strcmp(what, "leave") == 0 || strcmp(what, "exit") == 0) {
        CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_PENDING);
    }
    const size_t filled = fill();
    const int was_stderr = dup(STDERR_FILENO);
    CHECK(was_stderr >= 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    if (!in_child) {
        pthread_barrier_wait(&closed);
        await_speaker();
    }
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        allocate(NULL);
        (void)in_a_thread(allocate, NULL);
        _exit(0);
    }
    CHECK(pid > 0 && dup2(was_stderr, STDERR_FILENO) == STDERR_FILENO);
    if (in_child) {
        await_sleep(pid);
    } else {
        child_ends_well(pid);
    }
    (void)in_a_thread(allocate, NULL);
    /* Now somebody reads. */
    close(ends[1]);
    static char text[1 << 21];
    const size_t length = read_to_end(ends[0], text, sizeof text);
    static const char start[] = "tslab: epoch 'unread' closed with 1 survivor, ";
    CHECK_SAY(length > filled && memcmp(text + filled, start, sizeof start - 1) == 0 && text[length - 1] == '\n',
              "%zu bytes were said: %s", length - filled, text + filled);
    if (in_child) {
        child_ends_well(pid);
        return 0; /* the thread is still inside */
    }
    (void)thread_end(thread);
    return 0;
}
