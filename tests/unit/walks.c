/* Walks over epochs go over those that are in use, however many there were at once: their steps are counted. */
#include "child.h"

#include "slab/epoch_record.h"

#include <pthread.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

/* So many records were in use at once; so many may stay with a thread that closed them, beside those that are open. */
enum { MANY = 20000, KEPT_BY_A_THREAD = 8 + 28 /* its own, and those for any thread */, OPEN = 3 };

static tslab_epoch epochs[MANY];

static size_t out(void)
{
    size_t n = 0;
    uint32_t before = EPOCH_PROCESS;
    uint32_t at = 0;
    for (const struct epoch *epoch; (epoch = epoch_next(&at)) != NULL;) {
        CHECK(epoch->id > before);
        before = epoch->id;
        CHECK(at == before + 1);
        n++;
    }
    return n;
}

static void open_many(void)
{
    for (size_t i = 0; i < MANY; i++) {
        epochs[i] = tslab_epoch_open(NULL);
        CHECK(epochs[i].id != 0);
    }
    CHECK(out() >= MANY && out() <= MANY + KEPT_BY_A_THREAD);
}

/* All but a few, from anywhere. */
static void close_most(void)
{
    for (size_t i = 0; i < MANY; i++) {
        if (i % (MANY / OPEN) != MANY / OPEN / 2) {
            CHECK(tslab_epoch_close(epochs[i], 0, NULL) == TSLAB_OK);
        }
    }
}

/* The records that a walk has found since the last look; where that is not counted, none. */
static uint64_t visits(void)
{
    static uint64_t before;
    const uint64_t now = counter_get(&epoch_visits), since = now - before;
    before = now;
    return since;
}

static void check_visits(const char *what, unsigned walks)
{
    const uint64_t found = visits();
    CHECK_SAY(found <= (uint64_t)walks * (OPEN + KEPT_BY_A_THREAD + 1), "%s looks at %llu records", what,
              (unsigned long long)found);
    CHECK(!TSLAB_CHECKED || found >= OPEN);
}

static void close_in_child(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        check_visits("the child of a fork", 2);
        const tslab_epoch epoch = tslab_epoch_open(NULL);
        CHECK(epoch.id != 0 && tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
        CHECK(out() <= OPEN + 1); /* the child keeps what it closed, and nothing from before */
        _exit(0);
    }
    child_ends_well(pid);
}

static void *nothing(void *unused)
{
    return unused;
}

TEST(walks_go_over_what_is_in_use)
{
    /* In a process that never had a second thread a fork has nothing to do. */
    in_a_thread(nothing, NULL);
    const int nowhere = open("/dev/null", O_WRONLY);
    CHECK(nowhere >= 0);
    open_many();
    close_most();
    CHECK_SAY(out() <= OPEN + KEPT_BY_A_THREAD, "%zu records are out", out());
    (void)visits();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    check_visits("the statistics", 1);
    CHECK(stats.epochs_open == OPEN);
    struct tslab_epoch_stats list[OPEN];
    CHECK(tslab_epoch_list(list, OPEN) == OPEN);
    check_visits("the list of epochs", 2);
    tslab_stats_print(nowhere);
    check_visits("the report", 6);
    tslab_stats_json(nowhere);
    check_visits("the report as JSON", 6);
    const tslab_instance instance = tslab_instance_open("walk");
    CHECK(instance.id != 0);
    CHECK(tslab_instance_close(instance, 0, NULL) == TSLAB_OK);
    CHECK_SAY(visits() == 0, "%s", "to close an instance without members looks at epochs");
    const tslab_instance full = tslab_instance_open("walk");
    CHECK(tslab_epoch_open(&(struct tslab_epoch_options){ .instance = full }).id != 0);
    CHECK(tslab_instance_close(full, 0, NULL) == TSLAB_OK);
    check_visits("the close of an instance", 2);
    close_in_child();
    /* The records serve again, and no other is made. */
    const size_t metadata = stats.metadata_bytes;
    open_many();
    tslab_stats_get(&stats);
    CHECK(stats.metadata_bytes - metadata < (size_t)64 * 1024);
    CHECK(close(nowhere) == 0);
}
