/* Forks, and libc's lock of the list of its streams: fork takes it after all fork handlers, while there are threads.
 *
 *   one, threads, ended  in a process of one thread, with others, and when all others have ended: the child can flush,
 *                        open and close streams, also in a thread, and fork again
 *   getline              another thread flushes all streams, and waits for one whose holder allocates */
#include "workers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <tslab/tslab.h>

enum { FORKS = 20, LINE_BYTES = 1 << 20 };

static atomic_bool done;

static void *rest(void *unused)
{
    while (!done) {
        usleep(100);
        free(keep(malloc(100000)));
    }
    return unused;
}

static void *use_streams(void *unused)
{
    CHECK(fflush(NULL) == 0);
    FILE *const file = fopen("/dev/null", "w");
    CHECK(file != NULL && fputs("text", file) >= 0 && fclose(file) == 0 && fflush(NULL) == 0);
    return unused;
}

static void use_streams_with_threads(void)
{
    use_streams(NULL);
    for (int i = 0; i < 2; i++) {
        (void)in_a_thread(use_streams, NULL);
        use_streams(NULL);
    }
}

/* Children of children, with threads in between. */
static void fork_to(int depth)
{
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        if (depth == 3) {
            use_streams(NULL); /* no thread before the next fork */
        } else {
            use_streams_with_threads();
        }
        if (depth > 0) {
            fork_to(depth - 1);
        }
        _exit(0);
    }
    child_ends_well(pid);
    use_streams(NULL);
}

static void children_have_streams(const char *what)
{
    pthread_t thread = 0;
    if (strcmp(what, "one") != 0) {
        done = strcmp(what, "ended") == 0;
        thread = thread_begin(rest, NULL);
        if (done) {
            (void)thread_end(thread);
        }
    }
    for (int i = 0; i < FORKS; i++) {
        fork_to(3);
    }
    if (strcmp(what, "threads") == 0) {
        done = true;
        (void)thread_end(thread);
    }
    use_streams_with_threads();
}

/* A thread that says that it is about to wait, and is asleep then. */
struct sleeper {
    pthread_t thread;
    atomic_int id;
};

static struct sleeper reader, flusher, forker;
static FILE *stream;

static void say_who(struct sleeper *self)
{
    self->id = (int)syscall(SYS_gettid);
}

static void await_sleep(struct sleeper *sleeper)
{
    char path[64], state[256] = "";
    while (sleeper->id == 0) {
        usleep(1000);
    }
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", sleeper->id);
    for (int asleep = 0; asleep < 20;) { /* for a while, not by chance */
        const int descriptor = open(path, O_RDONLY);
        CHECK(descriptor >= 0 && read(descriptor, state, sizeof state - 1) > 0 && close(descriptor) == 0);
        asleep = strstr(state, ") S ") != NULL ? asleep + 1 : 0;
        usleep(1000);
    }
}

static void *read_line(void *unused)
{
    char *line = NULL;
    size_t size = 0;
    free(keep(malloc(1000)));
    say_who(&reader);
    CHECK(getline(&line, &size, stream) == LINE_BYTES);
    free(line);
    return unused;
}

static void *flush_all(void *unused)
{
    free(keep(malloc(1000)));
    say_who(&flusher);
    CHECK(fflush(NULL) == 0);
    return unused;
}

static void *fork_once(void *unused)
{
    free(keep(malloc(1000)));
    say_who(&forker);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_HANG_SECONDS);
        free(keep(malloc(100000)));
        _exit(0);
    }
    child_ends_well(pid);
    return unused;
}

static void holder_of_a_stream_allocates(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    stream = fdopen(ends[0], "r");
    CHECK(stream != NULL);
    reader.thread = thread_begin(read_line, NULL);
    await_sleep(&reader); /* it has the stream, */
    flusher.thread = thread_begin(flush_all, NULL);
    await_sleep(&flusher); /* this one the list, and waits for the stream, */
    forker.thread = thread_begin(fork_once, NULL);
    await_sleep(&forker); /* and this one waits for the list. */
    static char line[LINE_BYTES];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (size_t at = 0; at < sizeof line;) {
        const ssize_t n = write(ends[1], line + at, sizeof line - at);
        CHECK(n > 0);
        at += (size_t)n;
    }
    (void)thread_end(reader.thread);
    (void)thread_end(flusher.thread);
    (void)thread_end(forker.thread);
    CHECK(fclose(stream) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const bool is_known = strcmp(argv[1], "getline") == 0 || strcmp(argv[1], "one") == 0 ||
                          strcmp(argv[1], "ended") == 0 || strcmp(argv[1], "threads") == 0;
    CHECK_SAY(is_known, "there is no case %s", argv[1]);
    alarm(HANG_SECONDS);
    if (strcmp(argv[1], "getline") == 0) {
        holder_of_a_stream_allocates();
    } else {
        children_have_streams(argv[1]);
    }
    return 0;
}
