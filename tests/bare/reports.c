/* A library without reports: its functions for reports say so, and all else goes on. */
#include "epoch.h"

#include <errno.h>
#include <malloc.h>
#include <unistd.h>

static void reports_are_unsupported(void)
{
    struct tslab_stats stats;
    struct tslab_epoch_stats of_epoch;
    struct tslab_epoch_report report;
    uint64_t value = 42;
    const tslab_epoch epoch = opened_as("request", TSLAB_POLICY_DRAIN);
    STATUS(tslab_stats_get(&stats), TSLAB_UNSUPPORTED);
    STATUS(tslab_stat_get("purged_bytes", &value), TSLAB_UNSUPPORTED);
    STATUS(tslab_epoch_stats_get(epoch, &of_epoch), TSLAB_UNSUPPORTED);
    STATUS(tslab_stats_print(STDERR_FILENO), TSLAB_UNSUPPORTED);
    STATUS(tslab_stats_json(STDERR_FILENO), TSLAB_UNSUPPORTED);
    STATUS(tslab_profile_write(STDERR_FILENO), TSLAB_UNSUPPORTED);
    STATUS(tslab_option_set("profile", "1M"), TSLAB_UNSUPPORTED);
    STATUS(tslab_option_set("stats", "1"), TSLAB_UNSUPPORTED);
    errno = 0;
    CHECK(tslab_epoch_list(&of_epoch, 1) == 0 && errno == ENOSYS && value == 42);
    void *const survivor = tslab_epoch_malloc(epoch, 100);
    CHECK(survivor != NULL);
    STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
    CHECK(report.survivors == 1);
    tslab_free(survivor);
}

static void epochs_go_on(void)
{
    enum { ROUNDS = 1000, OBJECTS = 100 };
    for (size_t i = 0; i < ROUNDS; i++) {
        const tslab_epoch epoch = opened_as("frame", TSLAB_POLICY_DRAIN);
        void *objects[OBJECTS];
        enter(epoch);
        for (size_t at = 0; at < OBJECTS; at++) {
            objects[at] = calloc(1, 16 * (1 + at));
            CHECK(objects[at] != NULL && tslab_epoch_of(objects[at]).id == epoch.id);
        }
        leave(epoch);
        for (size_t at = 0; at < OBJECTS && i % 2 == 1; at++) {
            free(objects[at]);
        }
        STATUS(i % 2 == 1 ? tslab_epoch_close(epoch, 0, NULL) : tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        STATUS(tslab_epoch_enter(epoch), TSLAB_STALE);
    }
}

static void figures_are_empty(void)
{
    void *const object = malloc(1000);
    CHECK(object != NULL && mallinfo2().uordblks == 0 && mallinfo2().arena == 0);
    free(object);
}

static void nothing_is_written(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    (void)tslab_stats_print(ends[1]);
    (void)tslab_stats_json(ends[1]);
    close(ends[1]);
    char byte;
    CHECK(read(ends[0], &byte, 1) == 0);
    close(ends[0]);
}

static const struct epoch_case cases[] = {
    CASE(reports_are_unsupported),
    CASE(epochs_go_on),
    CASE(figures_are_empty),
    CASE(nothing_is_written),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
