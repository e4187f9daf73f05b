/* Programs whose memory is where it should not be, each in one way that `tslab doctor` is to find. It says "ready",
 * works a little from time to time, so that its figures are new, and ends with its input.
 *
 * usage: patients ILLNESS */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <tslab/tslab.h>

enum { MIB = 1 << 20, OBJECTS = 1 << 16, EACH = 512, LARGE = 256 << 10 };

static void *objects[OBJECTS];

/* The sites. Each has a function of its own: the compiler makes one of those that are the same. */
static __attribute__((noinline)) void *import_rows(size_t bytes)
{
    return memset(keep(malloc(bytes)), 1, bytes);
}

static __attribute__((noinline)) void *parse_rows(size_t bytes)
{
    return memset(keep(malloc(bytes)), 2, bytes);
}

static __attribute__((noinline)) void *remember(size_t bytes)
{
    return memset(keep(malloc(bytes)), 3, bytes);
}

/* Of eight objects side by side, one lives. */
static void one_of_eight(void *(*lives)(size_t), void *(*dies)(size_t))
{
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = (i % 8 == 0 ? lives : dies)(EACH);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        if (i % 8 != 0) {
            free(objects[i]);
        }
    }
}

static void scattered(void)
{
    one_of_eight(import_rows, parse_rows);
}

/* The same where all of them come from one place. */
static void same_place(void)
{
    one_of_eight(import_rows, import_rows);
}

static tslab_epoch own_epoch;

static void *in_own_epoch(size_t bytes)
{
    return memset(keep(tslab_epoch_malloc(own_epoch, bytes)), 1, bytes);
}

/* The cure of both: what lives long is in an epoch of its own. */
static void apart(void)
{
    own_epoch = tslab_epoch_open(NULL);
    one_of_eight(in_own_epoch, parse_rows);
}

static void holds(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = import_rows(EACH);
    }
}

/* One step of it: 64 KiB. */
static void grows(void)
{
    for (int i = 0; i < 64; i++) {
        (void)remember(1000);
    }
}

static void allocates_and_frees(size_t count, size_t bytes)
{
    void **const some = keep(malloc(count * sizeof *some));
    for (size_t i = 0; i < count; i++) {
        some[i] = memset(keep(malloc(bytes)), 1, bytes);
    }
    for (size_t i = 0; i < count; i++) {
        free(some[i]);
    }
    free(some);
}

/* Twice: without a keeper, only what came again waits. */
static void frees_all(void)
{
    allocates_and_frees(128, LARGE);
    allocates_and_frees(128, LARGE);
}

/* The system takes no page of locked memory. */
static void lock_and_free(int lock)
{
    enum { COUNT = 12 };
    for (size_t i = 0; i < COUNT; i++) {
        objects[i] = memset(keep(malloc(LARGE)), 1, LARGE);
        if (lock && mlock(objects[i], LARGE) != 0) {
            exit(CHECK_SKIPPED);
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        free(objects[i]);
    }
}

static void locked(void)
{
    lock_and_free(1);
}

static void not_locked(void)
{
    lock_and_free(0);
}

static char *mapped;

static void maps_itself(void)
{
    mapped = mmap(NULL, 512 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(mapped != MAP_FAILED);
    memset(mapped, 1, 48 * MIB);
    mapped += 48 * MIB;
}

/* With a page of another kind between them, so that the kernel keeps them apart. */
static void maps_many(void)
{
    for (int i = 0; i < 60; i++) {
        char *const one = mmap(NULL, MIB + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(one != MAP_FAILED && mprotect(one, 4096, PROT_READ) == 0);
        memset(one + 4096, 1, MIB);
    }
}

/* One step of it: 64 KiB. */
static void touches_more(void)
{
    static int steps;
    if (steps++ < 7000) {
        mapped = (char *)memset(mapped, 1, 64 << 10) + (64 << 10);
    }
}

static pthread_barrier_t all_have_worked;

static void *works_once(void *unused)
{
    for (size_t bytes = 1000; bytes < 16000; bytes += bytes / 3) {
        allocates_and_frees(100, bytes);
    }
    (void)pthread_barrier_wait(&all_have_worked);
    (void)pause();
    return unused;
}

static void start_threads(unsigned count, void *(*body)(void *))
{
    CHECK(pthread_barrier_init(&all_have_worked, NULL, count + 1) == 0);
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
    }
    (void)pthread_barrier_wait(&all_have_worked);
}

static void idle_threads(void)
{
    start_threads(60, works_once);
}

static void few_threads(void)
{
    start_threads(3, works_once);
}

static void *recurses_once(void *unused)
{
    volatile char deep[600 << 10];
    for (size_t i = 0; i < sizeof deep; i += 4096) {
        deep[i] = 1;
    }
    (void)pthread_barrier_wait(&all_have_worked);
    (void)pause();
    return unused;
}

static void deep_stacks(void)
{
    start_threads(60, recurses_once);
}

/* An epoch of 100 objects, of which one in so many lives; 0: none. */
static tslab_epoch one_epoch(const char *label, int of)
{
    const struct tslab_epoch_options options = { .label = label };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    void *some[100];
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        some[i] = parse_rows(EACH);
    }
    for (int i = 0; i < (int)COUNT_OF(some); i++) {
        if (of == 0 || i % of != 0) {
            free(some[i]);
        }
    }
    CHECK(tslab_epoch_leave(epoch) >= 0);
    return epoch;
}

/* The survivors are outside. */
static void drained(void)
{
    for (int i = 0; i < 600; i++) {
        objects[i] = parse_rows(EACH);
        CHECK(tslab_epoch_close(one_epoch("request", 0), 0, NULL) == TSLAB_OK);
    }
}

static void draining(void)
{
    for (int i = 0; i < 600; i++) {
        CHECK(tslab_epoch_close(one_epoch("request", 100), 0, NULL) == TSLAB_OK);
    }
}

static void left_open(void)
{
    for (int i = 0; i < 600; i++) {
        (void)one_epoch("session", 50);
    }
}

static void closed(void)
{
    for (int i = 0; i < 600; i++) {
        CHECK(tslab_epoch_close(one_epoch("session", 0), 0, NULL) == TSLAB_OK);
    }
}

static void thin_epochs(void)
{
    for (int i = 0; i < 600; i++) {
        const tslab_epoch epoch = tslab_epoch_open(NULL);
        objects[i] = memset(keep(tslab_epoch_malloc(epoch, EACH)), 1, EACH);
    }
}

static void refused(void)
{
    size_t kept = 0;
    while (kept < 1000 && (objects[kept] = keep(malloc(LARGE))) != NULL) {
        memset(objects[kept++], 1, LARGE);
    }
}

static void ask_for_more(void)
{
    for (size_t i = 0; i < 100; i++) {
        objects[i] = tslab_epoch_malloc(own_epoch, LARGE);
    }
}

static void fill_with_limit(size_t limit_bytes)
{
    const struct tslab_epoch_options options = { .label = "request", .limit_bytes = limit_bytes };
    own_epoch = tslab_epoch_open(&options);
    ask_for_more();
}

static void refused_by_label(void)
{
    fill_with_limit(0);
}

static void refused_by_epoch(void)
{
    fill_with_limit(8 << 20);
}

static void near_its_label(void)
{
    const struct tslab_epoch_options options = { .label = "request" };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    for (size_t i = 0; i < 15; i++) {
        objects[i] = memset(keep(tslab_epoch_malloc(epoch, 500000)), 1, 500000);
    }
}

static void rests(void)
{
}

static const struct {
    const char *name;
    void (*once)(void);
    void (*again)(void); /* every 20 ms */
} illnesses[] = {
    { "scattered", scattered, rests },
    { "same_place", same_place, rests },
    { "apart", apart, rests },
    { "holds", holds, rests },
    { "grows", holds, grows },
    { "frees_all", frees_all, rests },
    { "locked", locked, rests },
    { "not_locked", not_locked, rests },
    { "maps_many", maps_many, rests },
    { "deep_stacks", deep_stacks, rests },
    { "maps_itself", maps_itself, rests },
    { "maps_ever_more", maps_itself, touches_more },
    { "idle_threads", idle_threads, rests },
    { "few_threads", few_threads, rests },
    { "draining", draining, rests },
    { "drained", drained, rests },
    { "left_open", left_open, rests },
    { "closed", closed, rests },
    { "thin_epochs", thin_epochs, rests },
    { "refused", refused, rests },
    { "refused_by_label", refused_by_label, rests },
    { "refused_by_epoch", refused_by_epoch, ask_for_more },
    { "near_its_label", near_its_label, rests },
    { "well", rests, rests },
};

int main(int count, char **arguments)
{
    CHECK(count == 2);
    for (size_t i = 0; i < COUNT_OF(illnesses); i++) {
        if (strcmp(arguments[1], illnesses[i].name) == 0) {
            illnesses[i].once();
            CHECK(write(STDOUT_FILENO, "ready\n", 6) == 6);
            struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
            while (poll(&input, 1, 20) <= 0) { /* a signal may ask for a profile */
                illnesses[i].again();
            }
            return 0;
        }
    }
    return 2;
}
