/* Epochs when memory runs out: the arena is a few MiB. What is refused is refused cleanly, what there is stays whole,
 * and what one epoch gives back is enough for the next. */
#include "epoch.h"

#define LITTLE       "TSLAB_ARENA_BYTES=8M"
#define LITTLE_UNITS "TSLAB_OPTIONS=arena_bytes=8M,epoch_policy=per-request"
enum { LITTLE_BYTES = 8 * MEGABYTE, MOST = 1 << 20 };

static void *objects[MOST];
static tslab_handle handles[MOST];

/* Fills an epoch until it is refused; returns how many. */
static size_t fill_until_refused(tslab_epoch epoch, size_t size)
{
    size_t count = 0;
    for (;; count++) {
        CHECK(count < MOST);
        errno = 0;
        void *const p = tslab_epoch_malloc(epoch, size);
        if (p == NULL) {
            CHECK_SAY(errno == ENOMEM, "%zu bytes: %s", size, strerror(errno));
            return count;
        }
        objects[count] = fill(p, size, count);
    }
}

static void verify_all(size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        verify(objects[i], size, i);
    }
}

static const size_t sizes[] = { 16, 100, 1000, 5000, 30000 };

static void a_full_arena_refuses_and_recovers(void)
{
    for (size_t way = 0; way < 4 * COUNT_OF(sizes); way++) {
        const size_t size = sizes[way / 4];
        const bool inside = way % 2 == 1, releases = way % 4 >= 2;
        const tslab_epoch epoch = opened();
        if (inside) {
            enter(epoch);
        }
        const size_t count = fill_until_refused(epoch, size);
        CHECK_SAY(count * size >= LITTLE_BYTES / 2, "only %zu objects of %zu bytes fit", count, size);
        errno = 0;
        CHECK(tslab_epoch_calloc(epoch, 1, size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(tslab_epoch_aligned_alloc(epoch, 4096, size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(tslab_realloc(objects[0], LITTLE_BYTES / 2) == NULL && errno == ENOMEM);
        verify_all(count, size);
        ALIVE(epoch, count);
        if (inside) {
            leave(epoch);
        }
        if (releases) {
            STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        } else {
            for (size_t i = 0; i < count; i++) {
                tslab_free(objects[i]);
            }
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        }
        check_gone(epoch);
        /* The next has as much room. */
        const tslab_epoch next = opened_as(NULL, TSLAB_POLICY_RELEASE);
        const size_t again = fill_until_refused(next, size);
        CHECK_SAY(again >= count - count / 20, "%zu objects of %zu bytes fitted, then %zu", count, size, again);
        STATUS(tslab_epoch_close(next, 0, NULL), TSLAB_OK);
    }
}

static void handles_are_refused_and_recover(void)
{
    size_t before = 0;
    for (size_t round = 0; round < 6; round++) {
        const tslab_epoch epoch = opened_as(NULL, round % 2 == 0 ? TSLAB_POLICY_DRAIN : TSLAB_POLICY_RELEASE);
        size_t count = 0;
        for (;; count++) {
            errno = 0;
            void *p = NULL;
            handles[count] = tslab_handle_malloc(epoch, 100, &p);
            if (handles[count].id == 0) {
                CHECK(errno == ENOMEM && p == NULL);
                break;
            }
            objects[count] = fill(p, 100, count);
        }
        CHECK_SAY(count >= before - before / 20 && count * 100 >= LITTLE_BYTES / 2, "%zu handles, then %zu", before,
                  count);
        before = count;
        for (size_t i = 0; i < count; i++) {
            CHECK(tslab_handle_get(epoch, handles[i]) == objects[i]);
            verify(objects[i], 100, i);
            if (round % 2 == 0) {
                STATUS(tslab_handle_free(epoch, handles[i]), TSLAB_OK);
            }
        }
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        check_gone(epoch);
    }
}

/* Many epochs share what there is; whoever gets nothing is told so, and the others go on. */
static void many_epochs_share_too_little(void)
{
    enum { EPOCHS = 2000 };
    static tslab_epoch epochs[EPOCHS];
    static size_t held[EPOCHS];
    uint64_t random = 7;
    size_t refused = 0, granted = 0;
    for (size_t i = 0; i < EPOCHS; i++) {
        epochs[i] = opened_as(NULL, TSLAB_POLICY_RELEASE);
    }
    for (size_t i = 0; i < times(200000); i++) {
        const size_t at = below(&random, EPOCHS);
        errno = 0;
        const int entered = i % 2 == 0 ? tslab_epoch_enter(epochs[at]) : TSLAB_STALE;
        CHECK(i % 2 == 1 || entered >= 0 || entered == TSLAB_NO_MEMORY);
        void *const p = tslab_epoch_malloc(epochs[at], some_size(&random));
        CHECK(p != NULL || errno == ENOMEM);
        if (entered >= 0) {
            leave(epochs[at]);
        }
        granted += p != NULL;
        held[at] += p != NULL;
        refused += p == NULL;
        if (below(&random, 20) == 0) {
            struct tslab_epoch_report report;
            STATUS(tslab_epoch_close(epochs[at], 0, &report), TSLAB_OK);
            CHECK(report.survivors == held[at]);
            held[at] = 0;
            epochs[at] = opened_as(NULL, TSLAB_POLICY_RELEASE);
        }
    }
    CHECK_SAY(refused > 0 && granted > 0, "%zu were refused and %zu granted, so this proves nothing", refused, granted);
    for (size_t i = 0; i < EPOCHS; i++) {
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
    }
    const tslab_epoch all = opened_as(NULL, TSLAB_POLICY_RELEASE);
    CHECK(fill_until_refused(all, 1000) * 1000 >= LITTLE_BYTES / 2);
    STATUS(tslab_epoch_close(all, 0, NULL), TSLAB_OK);
}

/* Units of work and instances where there is no memory for theirs: what was refused has left nothing behind. */
static void units_and_instances_are_refused_and_recover(void)
{
    enum { UNITS = 50 };
    const tslab_epoch all = opened_as(NULL, TSLAB_POLICY_RELEASE);
    CHECK(fill_until_refused(all, 1000) * 1000 >= LITTLE_BYTES / 2);
    CHECK(fill_until_refused(all, 16) < MOST);
    size_t refused = 0;
    for (size_t i = 0; i < UNITS; i++) {
        errno = 0;
        const tslab_instance instance = tslab_instance_open("scarce");
        CHECK(instance.id != 0 || errno == ENOMEM);
        const int begun = tslab_work_begin("unit");
        CHECK(begun == TSLAB_OK || begun == TSLAB_NO_MEMORY);
        const tslab_epoch inside = tslab_epoch_current();
        CHECK((inside.id != 0) == (begun == TSLAB_OK));
        errno = 0;
        void *const p = tslab_malloc(5000);
        CHECK(p != NULL || errno == ENOMEM);
        refused += p == NULL;
        tslab_free(p);
        STATUS(tslab_work_end(), TSLAB_OK);
        CHECK(tslab_epoch_current().id == 0);
        if (instance.id != 0) {
            errno = 0;
            void *const q = tslab_epoch_malloc(tslab_instance_root(instance), 5000);
            CHECK(q != NULL || errno == ENOMEM);
            struct tslab_epoch_report report;
            STATUS(tslab_instance_close(instance, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
            CHECK(report.survivors == (q != NULL));
        }
    }
    CHECK_SAY(refused == UNITS, "only %zu of %d were refused", refused, UNITS);
    STATUS(tslab_epoch_close(all, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
    CHECK(tslab_epoch_list(NULL, 0) == 0);
    STATUS(tslab_work_begin("unit"), TSLAB_OK);
    verify_and_free(filled(tslab_epoch_current(), 5000, 1), 5000, 1);
    STATUS(tslab_work_end(), TSLAB_OK);
}

/* Traps hold addresses for some time, but not so many that there is nothing left. */
static void traps_give_way(void)
{
    size_t granted = 0;
    for (size_t i = 0; i < 3000; i++) {
        const tslab_epoch epoch = opened_as(NULL, TSLAB_POLICY_TRAP);
        granted += tslab_epoch_malloc(epoch, 30000) != NULL;
        granted += tslab_epoch_malloc(epoch, 100) != NULL;
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    }
    CHECK(granted == 2 * 3000);
    const tslab_epoch epoch = opened();
    void *const p = tslab_epoch_malloc(epoch, 100);
    CHECK(p != NULL);
    tslab_free(p);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

static const struct epoch_case cases[] = {
    CASE_WITH(LITTLE, a_full_arena_refuses_and_recovers),
    CASE_WITH(LITTLE, handles_are_refused_and_recover),
    CASE_WITH(LITTLE, many_epochs_share_too_little),
    CASE_WITH(LITTLE_UNITS, units_and_instances_are_refused_and_recover),
    CASE_WITH(LITTLE, traps_give_way),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
