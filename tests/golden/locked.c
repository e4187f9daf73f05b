/* Counts the locked operations and the locks of each path through the engine, on the counted build (base/atomic.h).
 *
 * Each path runs in a process of its own, with a clock that stands still and random numbers that are the same in each
 * run. A path of two threads hands work over by barriers, so the order of all steps is fixed. Counts are each thread's
 * own. A path warms up before it counts.
 *
 * Prints a line for each operation: its name, how often it ran, and for all these times together the locked
 * read-modify-writes, the seq_cst stores, and the locks by the names of their ranks. locked.py reads the lines. */
#include "check.h"
#include "workers.h"

#include "os/lock.h"
#include "os/os.h"

#include <tslab/tslab.h>

#include <pthread.h>

_Thread_local uint64_t counted[COUNTED_MOST];

struct counts {
    uint64_t of[COUNTED_MOST];
};

static const char *const rank_names[] = {
    [RANK_START] = "start",       [RANK_LAST] = "last",     [RANK_REGISTRY] = "registry", [RANK_GATE] = "gate",
    [RANK_EXCHANGE] = "exchange", [RANK_TRAYS] = "trays",   [RANK_LABELS] = "labels",     [RANK_SWEEP] = "sweep",
    [RANK_LIST] = "list",         [RANK_RUNS] = "runs",     [RANK_EPOCHS] = "epochs",     [RANK_PURGE] = "purge",
    [RANK_TRAP] = "trap",         [RANK_GROWTH] = "growth", [RANK_DEPOT] = "depot",       [RANK_META] = "meta",
};
_Static_assert(COUNTED_LOCKS + COUNT_OF(rank_names) <= COUNTED_MOST, "there is a count for each rank");

static void counting_begins(void)
{
    memset(counted, 0, sizeof counted);
}

static struct counts counts_so_far(void)
{
    struct counts counts;
    memcpy(counts.of, counted, sizeof counted);
    return counts;
}

static void say(const char *name, const char *side, size_t operations, struct counts counts)
{
    printf("%s%s\t%zu\t%lu\t%lu", name, side, operations, counts.of[COUNTED_RMW], counts.of[COUNTED_STORE]);
    for (size_t rank = RANK_PROGRAM_THREADS; rank < COUNT_OF(rank_names); rank++) {
        if (counts.of[COUNTED_LOCKS + rank] != 0) {
            printf("\t%s %lu", rank_names[rank], counts.of[COUNTED_LOCKS + rank]);
        }
    }
    printf("\n");
}

/* A path, and what it needs to know: sizes from least to most bytes, and how many objects live. */
struct path {
    void (*run)(const struct path *);
    const char *name;
    size_t objects, least, most;
};

static uint64_t random_state = 88172645463325252;

static size_t size_in(const struct path *path)
{
    return path->least + random_next(&random_state) % (path->most - path->least + 1);
}

static void *allocated(size_t size)
{
    void *p = keep(tslab_malloc(size));
    CHECK(p != NULL);
    return p;
}

/* The objects of the path, for which main makes room outside of the engine. */
static void **objects;

static void allocate_all(const struct path *path)
{
    for (size_t i = 0; i < path->objects; i++) {
        objects[i] = allocated(size_in(path));
    }
}

static void free_all(const struct path *path)
{
    for (size_t i = 0; i < path->objects; i++) {
        tslab_free(objects[i]);
    }
}

/* One thread. */

static void run_pairs(const struct path *path)
{
    enum { PAIRS = 100000 };
    for (int pass = 0; pass < 2; pass++) {
        counting_begins();
        for (size_t i = 0; i < PAIRS; i++) {
            tslab_free(allocated(size_in(path)));
        }
    }
    say(path->name, "", PAIRS, counts_so_far());
}

/* Replaces objects at random, by malloc or by calloc. The first pass replaces each many times. */
static void replace(const struct path *path, bool zeroed)
{
    const size_t replacements = path->objects < 50000 ? 500000 : 10 * path->objects;
    for (int pass = 0; pass < 2; pass++) {
        counting_begins();
        for (size_t i = 0; i < replacements; i++) {
            void **object = &objects[random_next(&random_state) % path->objects];
            const size_t size = size_in(path);
            tslab_free(*object);
            *object = zeroed ? keep(tslab_calloc(1, size)) : allocated(size);
            CHECK(*object != NULL);
        }
    }
    say(path->name, "", replacements, counts_so_far());
}

static void run_replace(const struct path *path)
{
    replace(path, false);
}

static void run_replace_by_calloc(const struct path *path)
{
    replace(path, true);
}

static void run_bulk(const struct path *path)
{
    enum { WARM = 4, ROUNDS = 10 };
    for (size_t round = 0; round < WARM + ROUNDS; round++) {
        if (round == WARM) {
            counting_begins();
        }
        allocate_all(path);
        free_all(path);
    }
    say(path->name, "", ROUNDS * path->objects, counts_so_far());
}

static void run_realloc(const struct path *path)
{
    enum { GROWTHS = 1000 };
    for (int pass = 0; pass < 2; pass++) {
        counting_begins();
        for (size_t i = 0; i < GROWTHS; i++) {
            void *object = allocated(path->least);
            for (size_t size = 2 * path->least; size <= path->most; size *= 2) {
                object = keep(tslab_realloc(object, size));
                CHECK(object != NULL);
            }
            tslab_free(object);
        }
    }
    say(path->name, "", GROWTHS, counts_so_far());
}

/* Handles in an epoch that the thread is inside of, or only names. */
static void handles(const struct path *path, bool inside)
{
    enum { PAIRS = 100000 };
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(!inside || tslab_epoch_enter(epoch) >= 0);
    for (int pass = 0; pass < 2; pass++) {
        counting_begins();
        for (size_t i = 0; i < PAIRS; i++) {
            const tslab_handle handle = tslab_handle_malloc(epoch, size_in(path), NULL);
            CHECK(tslab_handle_free(epoch, handle) == TSLAB_OK);
        }
    }
    say(path->name, "", PAIRS, counts_so_far());
}

static void run_handles(const struct path *path)
{
    handles(path, true);
}

static void run_handles_by_name(const struct path *path)
{
    handles(path, false);
}

/* Epochs. */

static tslab_epoch enter_new_epoch(void)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    return epoch;
}

enum { EPOCHS = 10000 };

static void run_epochs_released(const struct path *path)
{
    for (int pass = 0; pass < 2; pass++) {
        counting_begins();
        for (size_t i = 0; i < EPOCHS; i++) {
            const tslab_epoch epoch = enter_new_epoch();
            allocate_all(path);
            CHECK(tslab_epoch_leave(epoch) == TSLAB_OK);
            CHECK(tslab_epoch_release(epoch, 0, NULL) == TSLAB_OK);
        }
    }
    say(path->name, "", EPOCHS, counts_so_far());
}

static void run_epochs_closed(const struct path *path)
{
    for (int pass = 0; pass < 2; pass++) {
        counting_begins();
        for (size_t i = 0; i < EPOCHS; i++) {
            const tslab_epoch epoch = enter_new_epoch();
            allocate_all(path);
            free_all(path);
            CHECK(tslab_epoch_leave(epoch) == TSLAB_OK);
            CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
        }
    }
    say(path->name, "", EPOCHS, counts_so_far());
}

/* Threads. */

/* The counts of the thread that ended last. */
static struct counts ended;
static pthread_key_t end_key;

/* Runs in the second round of the thread's destructors: the engine's own ran in the first. */
static void thread_ended(void *rounds)
{
    if (rounds == &ended) {
        CHECK(pthread_setspecific(end_key, &end_key) == 0);
    } else {
        ended = counts_so_far();
    }
}

/* Allocates objects whose sizes are equal steps from the least to the most. */
static void *thread_of_sizes(void *argument)
{
    const struct path *path = argument;
    CHECK(pthread_setspecific(end_key, &ended) == 0);
    for (size_t i = 0; i < path->objects; i++) {
        objects[i] = allocated(path->least + i * (path->most - path->least) / (path->objects - 1));
    }
    free_all(path);
    return NULL;
}

static void run_threads(const struct path *path)
{
    enum { WARM = 10, THREADS = 100 };
    struct counts sum = { 0 };
    CHECK(pthread_key_create(&end_key, thread_ended) == 0);
    for (size_t i = 0; i < WARM + THREADS; i++) {
        in_a_thread(thread_of_sizes, (void *)(uintptr_t)path);
        for (size_t k = 0; i >= WARM && k < COUNTED_MOST; k++) {
            sum.of[k] += ended.of[k];
        }
    }
    say(path->name, "", THREADS, sum);
}

/* Two threads in turn. */

static pthread_barrier_t turn;

struct turns {
    const struct path *path;
    void (*first)(const struct path *), (*second)(const struct path *);
    size_t warm, rounds;
    struct counts counts; /* of the thread whose turn is second */
};

static void *second_thread(void *argument)
{
    struct turns *turns = argument;
    for (size_t i = 0; i < turns->warm + turns->rounds; i++) {
        pthread_barrier_wait(&turn);
        if (i == turns->warm) {
            counting_begins();
        }
        turns->second(turns->path);
        pthread_barrier_wait(&turn);
    }
    turns->counts = counts_so_far();
    return NULL;
}

/* This thread and another one work in turn. Returns the counts of this one. */
static struct counts take_turns(struct turns *turns)
{
    pthread_t thread;
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    thread = thread_begin(second_thread, turns);
    for (size_t i = 0; i < turns->warm + turns->rounds; i++) {
        if (i == turns->warm) {
            counting_begins();
        }
        turns->first(turns->path);
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
    }
    const struct counts counts = counts_so_far();
    (void)thread_end(thread);
    return counts;
}

static void run_producer(const struct path *path)
{
    struct turns turns = { .path = path, .first = allocate_all, .second = free_all, .warm = 50, .rounds = 200 };
    const struct counts counts = take_turns(&turns);
    say(path->name, ": malloc", turns.rounds * path->objects, counts);
    say(path->name, ": free", turns.rounds * path->objects, turns.counts);
}

/* Two threads replace objects at random, each its own, and hand a share of those that they replace to the other one,
 * which frees them when its turn comes. */
enum { OWN_OBJECTS = 400, REPLACED_EACH_TURN = 1000 };

static struct party {
    void *own[OWN_OBJECTS], *given[REPLACED_EACH_TURN];
    size_t given_count;
} parties[2];

static unsigned handed_percent;

static void take_party_turn(const struct path *path, struct party *self, struct party *other)
{
    while (self->given_count != 0) {
        tslab_free(self->given[--self->given_count]);
    }
    for (size_t i = 0; i < REPLACED_EACH_TURN; i++) {
        void **const object = &self->own[random_next(&random_state) % OWN_OBJECTS];
        if (*object != NULL && random_next(&random_state) % 100 < handed_percent) {
            other->given[other->given_count++] = *object;
        } else {
            tslab_free(*object);
        }
        *object = allocated(size_in(path));
    }
}

static void first_party(const struct path *path)
{
    take_party_turn(path, &parties[0], &parties[1]);
}

static void second_party(const struct path *path)
{
    take_party_turn(path, &parties[1], &parties[0]);
}

static void replace_and_hand_over(const struct path *path, unsigned percent)
{
    struct turns turns = { .path = path, .first = first_party, .second = second_party, .warm = 50, .rounds = 200 };
    handed_percent = percent;
    struct counts counts = take_turns(&turns);
    for (size_t i = 0; i < COUNTED_MOST; i++) {
        counts.of[i] += turns.counts.of[i];
    }
    say(path->name, "", 2 * turns.rounds * REPLACED_EACH_TURN, counts);
}

static void run_handing_0(const struct path *path)
{
    replace_and_hand_over(path, 0);
}

static void run_handing_50(const struct path *path)
{
    replace_and_hand_over(path, 50);
}

static void run_handing_90(const struct path *path)
{
    replace_and_hand_over(path, 90);
}

static tslab_epoch handed_over;

static void open_epoch(const struct path *path)
{
    handed_over = enter_new_epoch();
    allocate_all(path);
    CHECK(tslab_epoch_leave(handed_over) == TSLAB_OK);
}

static void release_epoch(const struct path *path)
{
    (void)path;
    CHECK(tslab_epoch_release(handed_over, 0, NULL) == TSLAB_OK);
}

static void run_epochs_handed_over(const struct path *path)
{
    struct turns turns = { .path = path, .first = open_epoch, .second = release_epoch, .warm = 500, .rounds = 2000 };
    const struct counts counts = take_turns(&turns);
    say(path->name, ": open to leave", turns.rounds, counts);
    say(path->name, ": release", turns.rounds, turns.counts);
}

/* Closes the last epoch, whose objects the other thread has freed, and fills the next one. */
static void close_and_open_epoch(const struct path *path)
{
    if (handed_over.id != 0) {
        CHECK(tslab_epoch_close(handed_over, 0, NULL) == TSLAB_OK);
    }
    open_epoch(path);
}

static void run_chunk_of_another(const struct path *path)
{
    struct turns turns = { .path = path, .first = close_and_open_epoch, .second = free_all, .warm = 50, .rounds = 200 };
    const struct counts counts = take_turns(&turns);
    say(path->name, ": malloc", turns.rounds * path->objects, counts);
    say(path->name, ": free", turns.rounds * path->objects, turns.counts);
}

/* The paths. */

enum { KIB = 1024, MIB = 1024 * KIB };

static const struct path paths[] = {
    { run_pairs, "malloc and free in the magazine", 1, 64, 64 },
    { run_replace, "replace among 10,000 of 16-2,048 B", 10000, 16, 2048 },
    { run_replace, "replace among 200,000 of 16-512 B", 200000, 16, 512 },
    { run_replace, "replace among 1,000 of 2-32 KiB", 1000, 2 * KIB, 32 * KIB },
    { run_replace_by_calloc, "calloc, replace among 10,000 of 16-2,048 B", 10000, 16, 2048 },
    { run_bulk, "bulk of 100,000 of 64 B", 100000, 64, 64 },
    { run_bulk, "bulk of 20,000 of 16-2,048 B", 20000, 16, 2048 },
    { run_producer, "producer of 48 B", 1000, 48, 48 },
    { run_producer, "producer of 64 B", 1000, 64, 64 },
    { run_producer, "producer of 256 B", 1000, 256, 256 },
    { run_producer, "producer of 1,040 B", 1000, 1040, 1040 },
    { run_producer, "producer of 40,000 B", 1000, 40000, 40000 },
    { run_handing_0, "two replace 16-48 B, 0 % freed by the other", 1, 16, 48 },
    { run_handing_50, "two replace 16-48 B, 50 % freed by the other", 1, 16, 48 },
    { run_handing_90, "two replace 16-48 B, 90 % freed by the other", 1, 16, 48 },
    { run_handing_0, "two replace 16-2,048 B, 0 % freed by the other", 1, 16, 2048 },
    { run_handing_50, "two replace 16-2,048 B, 50 % freed by the other", 1, 16, 2048 },
    { run_handing_90, "two replace 16-2,048 B, 90 % freed by the other", 1, 16, 2048 },
    { run_handing_0, "two replace 16-32,768 B, 0 % freed by the other", 1, 16, 32 * KIB },
    { run_handing_50, "two replace 16-32,768 B, 50 % freed by the other", 1, 16, 32 * KIB },
    { run_replace, "large, replace among 100 of 33-256 KiB", 100, 33 * KIB, 256 * KIB },
    { run_replace, "large, replace among 30 of 257 KiB-2 MiB", 30, 257 * KIB, 2 * MIB },
    { run_realloc, "realloc from 64 B to 1 MiB", 1, 64, MIB },
    { run_threads, "thread with 200 objects of 200 sizes", 200, 16, 3200 },
    { run_epochs_released, "epoch of 20 objects, released", 20, 16, 512 },
    { run_epochs_closed, "epoch of 20 objects, freed and closed", 20, 16, 512 },
    { run_epochs_handed_over, "epoch of 20 objects, handed over", 20, 16, 512 },
    { run_chunk_of_another, "chunk of another thread", 500, 64, 64 },
    { run_handles, "handle, inside of the epoch", 1, 64, 64 },
    { run_handles_by_name, "handle, in an epoch by name", 1, 64, 64 },
};

static uint64_t stopped_clock(void)
{
    return 1000;
}

int main(void)
{
    os_calls.now_ms = stopped_clock;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_HANG_SECONDS);
            objects = calloc(paths[i].objects, sizeof *objects);
            CHECK(objects != NULL);
            paths[i].run(&paths[i]);
            exit(0);
        }
        child_ends_well(child);
    }
    return 0;
}
