/* One thread is in a system call about memory, which does not return. Another one, which needs no memory that has to be
 * mapped, must come to an end: it allocates and frees in the process and in epochs, and opens and ends epochs. Checked
 * builds assert the same of each call everywhere (os/ranks.h). */
#include "child.h"
#include "engine.h"

#include "common/metadata.h"
#include "os/os.h"
#include "slab/epoch_record.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <tslab/tslab.h>

enum { OBJECTS = 4000, PATIENCE_S = 60 };

static struct os_calls real;

/* The call that stops, once, when the thread that sleeps makes it. */
static const char *stops_in;
static _Thread_local bool sleeps;
static sem_t stopped, goes_on, ended;

static void stop_in(const char *call)
{
    if (sleeps && stops_in != NULL && strcmp(call, stops_in) == 0) {
        sleeps = false;
        CHECK(sem_post(&stopped) == 0);
        CHECK(sem_wait(&goes_on) == 0);
    }
}

static enum os_placed place(void *start, size_t bytes, enum os_access access)
{
    stop_in("place");
    return real.place(start, bytes, access);
}

static bool purge(void *start, size_t bytes)
{
    stop_in("purge");
    return real.purge(start, bytes);
}

static bool unmap(void *start, size_t bytes)
{
    stop_in("unmap");
    return real.unmap(start, bytes);
}

static bool commit(void *start, size_t bytes)
{
    stop_in("commit");
    return real.commit(start, bytes);
}

static bool forbid(void *start, size_t bytes)
{
    stop_in("forbid");
    return real.forbid(start, bytes);
}

static enum os_moved move(void *from, size_t bytes, void *to, size_t longer)
{
    stop_in("move");
    return real.move(from, bytes, to, longer);
}

static void *map(size_t bytes)
{
    stop_in("map");
    return real.map(bytes);
}

/* Waits with patience. */
static bool comes(sem_t *semaphore)
{
    struct timespec until;
    CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += PATIENCE_S;
    return sem_timedwait(semaphore, &until) == 0;
}

/* The epochs that the two threads have: each lock that epochs share is of one of either thread. */
static tslab_epoch epochs[2 * EPOCH_LOCKS];

static void open_epochs(void)
{
    const struct tslab_epoch_options options = { .policy = TSLAB_POLICY_RELEASE };
    for (size_t i = 0; i < COUNT_OF(epochs); i++) {
        epochs[i] = tslab_epoch_open(&options);
        CHECK(epochs[i].id != 0);
    }
}

/* The other thread. Slabs of many classes become empty, and long runs come and go. */
static void work(void)
{
    static void *objects[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++) {
        CHECK((objects[i] = tslab_malloc(16 + i % 3000)) != NULL);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(objects[i]);
    }
    void *const large = tslab_realloc(tslab_malloc(300000), 600000);
    CHECK(large != NULL);
    tslab_free(large);
    for (size_t i = 0; i < COUNT_OF(epochs); i += 2) {
        void *const p = tslab_epoch_malloc(epochs[i], 300000), *const q = tslab_epoch_malloc(epochs[i], 100);
        CHECK(p != NULL && q != NULL);
        tslab_free(p);
        tslab_free(q);
    }
    tslab_epoch more[16]; /* not all of them are warm */
    for (size_t i = 0; i < COUNT_OF(more); i++) {
        more[i] = tslab_epoch_open(NULL);
        objects[i] = tslab_epoch_malloc(more[i], 100);
        CHECK(objects[i] != NULL);
    }
    for (size_t i = 0; i < COUNT_OF(more); i++) {
        CHECK(tslab_epoch_close(more[i], 0, NULL) >= 0);
        tslab_free(objects[i]);
    }
}

static void *work_thread(void *argument)
{
    sem_t *const begins = argument;
    for (unsigned i = 0; i < 3; i++) { /* then it needs no more memory than it has had */
        work();
    }
    CHECK(sem_post(&ended) == 0);
    CHECK(sem_wait(begins) == 0);
    work();
    CHECK(sem_post(&ended) == 0);
    return NULL;
}

/* The thread that stops. */

static void grow(void)
{
    tslab_free(tslab_malloc(32 * MIB));
}

static void *block;

static void fill_block(void)
{
    CHECK(tslab_malloc(2 * MIB) != NULL); /* what the other thread freed is no neighbour, and stays */
    CHECK((block = tslab_malloc(64 * MIB)) != NULL);
    memset(block, 1, 64 * MIB);
}

static void trim(void)
{
    tslab_free(block);
    (void)tslab_trim();
}

static void fill_epoch(void)
{
    CHECK((block = tslab_epoch_malloc(epochs[1], 64 * MIB)) != NULL);
    memset(block, 1, 64 * MIB);
}

/* The options are eager by now. */
static void shrink_in_epoch(void)
{
    CHECK(tslab_option_set("purge", "eager") == TSLAB_OK);
    CHECK(tslab_realloc(block, 300000) == block);
}

static void fill_metadata(void)
{
    while (metadata_take(1000) != NULL) {
    }
}

static void open_many(void)
{
    for (size_t i = 0; i < 3 * EPOCH_BLOCK_RECORDS; i++) {
        CHECK(tslab_epoch_open(NULL).id != 0);
    }
}

static void open_and_close_many(void)
{
    static tslab_epoch many[3 * EPOCH_BLOCK_RECORDS];
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        CHECK((many[i] = tslab_epoch_open(NULL)).id != 0);
    }
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        CHECK(tslab_epoch_close(many[i], 0, NULL) >= 0);
    }
}

static void trap(void)
{
    const struct tslab_epoch_options options = { .policy = TSLAB_POLICY_TRAP };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    CHECK(tslab_epoch_malloc(epoch, 100) != NULL && tslab_epoch_close(epoch, 0, NULL) >= 0);
}

static void move_pages(void)
{
    CHECK((block = tslab_malloc(4 * MIB)) != NULL && tslab_malloc(4 * MIB) != NULL);
    CHECK((block = tslab_realloc(block, 32 * MIB)) != NULL);
}

static const struct stop {
    const char *call;
    void (*before)(void);
    void (*then)(void);
} stops[] = {
    { "place", NULL, grow },
    { "purge", fill_block, trim },
    { "purge", fill_epoch, shrink_in_epoch },
    { "map", fill_metadata, open_many },
    { "purge", open_and_close_many, trim },
    { "forbid", NULL, trap },
    { "move", NULL, move_pages },
};

static void *stop_thread(void *argument)
{
    const struct stop *const stop = argument;
    tslab_free(tslab_malloc(1)); /* it has a record now */
    sleeps = true;
    stop->then();
    return NULL;
}

IN_CHILDREN(nobody_waits, stops)
{
    const struct stop *const stop = argument;
    sem_t begins;
    pthread_t worker, stopper;
    CHECK(sem_init(&stopped, 0, 0) == 0 && sem_init(&goes_on, 0, 0) == 0 && sem_init(&ended, 0, 0) == 0);
    CHECK(sem_init(&begins, 0, 0) == 0);
    open_epochs();
    CHECK(pthread_create(&worker, NULL, work_thread, &begins) == 0 && comes(&ended));
    if (stop->before != NULL) {
        stop->before();
    }
    real = os_calls;
    os_calls.place = place;
    os_calls.purge = purge;
    os_calls.unmap = unmap;
    os_calls.commit = commit;
    os_calls.forbid = forbid;
    os_calls.move = move;
    os_calls.map = map;
    stops_in = stop->call;
    CHECK(pthread_create(&stopper, NULL, stop_thread, (void *)(uintptr_t)stop) == 0);
    CHECK_SAY(comes(&stopped), "it does not come to %s", stop->call);
    CHECK(sem_post(&begins) == 0);
    CHECK_SAY(comes(&ended), "a thread waits for the other's %s", stop->call);
    CHECK(sem_post(&goes_on) == 0);
    CHECK(pthread_join(worker, NULL) == 0 && pthread_join(stopper, NULL) == 0);
}
