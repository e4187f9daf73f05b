/* Refusals that the fuzzer does not draw: each wrong option and flag, reports that stay as they were, first calls; and
 * the words for each status. */
#include "epoch.h"

static int by_id(const void *a, const void *b)
{
    const uint64_t left = ((const tslab_epoch *)a)->id, right = ((const tslab_epoch *)b)->id;
    return left < right ? -1 : left > right;
}

/* Places are used again, values never. */
CASE(a_value_is_not_used_again)
{
    enum { OPEN = 5, REMEMBERED = 50 };
    const size_t count = times(200000);
    tslab_epoch *const all = calloc(count, sizeof *all);
    CHECK(all != NULL);
    uint64_t random = 3;
    for (size_t i = 0; i < count; i++) {
        all[i] = opened();
        if (i >= OPEN) {
            STATUS(tslab_epoch_close(all[i - OPEN], 0, NULL), TSLAB_OK);
        }
        if (i >= OPEN && i % 100 == 0) {
            check_gone(all[below(&random, i - OPEN + 1)]);
            check_gone(all[i - OPEN - below(&random, i < OPEN + REMEMBERED ? 1 : REMEMBERED)]);
            STATUS(tslab_epoch_enter(all[i]), entered_status(TSLAB_POLICY_DRAIN, 0));
            check_gone(all[i - OPEN]);
            leave(all[i]);
        }
    }
    for (size_t i = count - OPEN; i < count; i++) {
        STATUS(tslab_epoch_close(all[i], 0, NULL), TSLAB_OK);
    }
    qsort(all, count, sizeof *all, by_id);
    for (size_t i = 1; i < count; i++) {
        CHECK_SAY(all[i - 1].id != all[i].id, "%#llx named two epochs", (unsigned long long)all[i].id);
    }
    free(all);
}

/* Options. */

static void check_bad_options(struct tslab_epoch_options options)
{
    const size_t before = tslab_epoch_list(NULL, 0);
    errno = 0;
    CHECK(tslab_epoch_open(&options).id == 0 && errno == EINVAL);
    CHECK(tslab_epoch_list(NULL, 0) == before);
}

CASE(bad_options_are_refused)
{
    for (unsigned policy = 1; policy < 300; policy++) {
        check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(policy) });
    }
    for (unsigned bit = 0; bit < 32; bit++) {
        check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(1u << bit) });
        if (1u << bit != TSLAB_OPEN_VOUCHED) {
            check_bad_options((struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(1u << bit) });
            check_bad_options(
                (struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(1u << bit | TSLAB_OPEN_VOUCHED) });
        }
    }
}

/* None of these ways to end an epoch or an instance takes such flags, or writes a report. */
static void check_bad_flags(unsigned flags)
{
    tslab_epoch epoch = opened();
    const tslab_instance instance = tslab_instance_open("arguments");
    const tslab_close_flags how = (tslab_close_flags)unseen(flags);
    struct tslab_epoch_report report, untouched;
    memset(&report, 0x77, sizeof report);
    memset(&untouched, 0x77, sizeof untouched);
    STATUS(tslab_epoch_close(epoch, how, &report), TSLAB_INVALID);
    STATUS(tslab_epoch_release(epoch, how, &report), TSLAB_INVALID);
    STATUS(tslab_epoch_advance(&epoch, how, &report), TSLAB_INVALID);
    STATUS(tslab_instance_close(instance, how, &report), TSLAB_INVALID);
    CHECK(memcmp(&report, &untouched, sizeof report) == 0);
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_OPEN);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* A value of one kind is none of another, so that a call that confuses them is refused. */
CASE(bad_arguments_are_refused)
{
    static const unsigned policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                         TSLAB_POLICY_TRAP };
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        check_bad_flags(policies[i]);
        check_bad_options((struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(policies[i]) });
    }
    check_bad_flags(TSLAB_OPEN_VOUCHED);
    for (unsigned bit = 0; bit < 32; bit++) {
        if (1u << bit != TSLAB_CLOSE_RECLAIM) {
            check_bad_flags(1u << bit);
            check_bad_flags(1u << bit | TSLAB_CLOSE_RECLAIM);
        }
    }
    check_bad_options((struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(TSLAB_CLOSE_RECLAIM) });
    for (int status = TSLAB_INVALID; status <= TSLAB_PENDING; status++) {
        if (status != TSLAB_OK) {
            check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen((size_t)status) });
            check_bad_flags((unsigned)status);
        }
    }
    STATUS(tslab_stats_get(NULL), TSLAB_INVALID);
}

/* An error leaves the report as it was. */
CASE(a_refused_call_writes_no_report)
{
    tslab_epoch epoch = opened();
    void *const p = filled(epoch, 100, 1);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    struct tslab_epoch_report report, untouched;
    memset(&report, 0x77, sizeof report);
    memset(&untouched, 0x77, sizeof untouched);
    STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_CLOSED);
    STATUS(tslab_epoch_advance(&epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_CLOSED);
    verify_and_free(p, 100, 1);
    STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_STALE);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_STALE);
    STATUS(tslab_epoch_advance(&epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_STALE);
    const tslab_instance instance = tslab_instance_open("busy");
    const tslab_epoch root = tslab_instance_root(instance);
    enter(root);
    STATUS(tslab_instance_close(instance, 0, &report), TSLAB_BUSY);
    leave(root);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    STATUS(tslab_instance_close(instance, 0, &report), TSLAB_STALE);
    CHECK(memcmp(&report, &untouched, sizeof report) == 0);
}

/* A second close reports what keeps the epoch. */
CASE(a_second_close_reports_what_is_left)
{
    tslab_epoch epoch = opened();
    void *const objects[] = { filled(epoch, 100, 1), filled(epoch, 1000, 2), filled(epoch, 100000, 3) };
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        bytes += tslab_usable_size(objects[i]);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        struct tslab_epoch_report report;
        for (int way = 0; way < 2; way++) {
            memset(&report, 0x77, sizeof report);
            STATUS(way == 0 ? tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report)
                            : tslab_epoch_advance(&epoch, 0, &report),
                   TSLAB_CLOSED);
            CHECK(report.survivors == COUNT_OF(objects) - i && report.survivor_bytes == bytes);
            CHECK(report.recycled_bytes == 0 && report.reclaimed_bytes == 0 && report.rss_change_bytes == 0);
        }
        bytes -= tslab_usable_size(objects[i]);
        tslab_free(objects[i]);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_STALE);
}

CASE(every_status_has_a_sentence)
{
    const char *texts[TSLAB_PENDING - TSLAB_FIXED + 1];
    for (int status = TSLAB_FIXED; status <= TSLAB_PENDING; status++) {
        const char *const text = tslab_status_text((enum tslab_status)status);
        CHECK(text != NULL && strlen(text) > 5 && strchr(text, '\n') == NULL && strchr(text, '.') == NULL);
        CHECK(strncmp(tslab_status_name((enum tslab_status)status), "TSLAB_", 6) == 0);
        for (int other = TSLAB_FIXED; other < status; other++) {
            CHECK(strcmp(texts[other - TSLAB_FIXED], text) != 0);
        }
        texts[status - TSLAB_FIXED] = text;
    }
    CHECK(strcmp(tslab_status_name(TSLAB_STALE), "TSLAB_STALE") == 0);
    CHECK(strcmp(tslab_status_text(TSLAB_OK), "success") == 0);
    static const int unknown[] = { TSLAB_FIXED - 1, TSLAB_PENDING + 1, 1000, -1000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        CHECK(strcmp(tslab_status_text((enum tslab_status)unknown[i]), "unknown status") == 0);
        CHECK(strcmp(tslab_status_name((enum tslab_status)unknown[i]), "unknown") == 0);
    }
}

/* Before anything was allocated in the process, every function can be the first. */
static void call_first(const void *argument)
{
    const tslab_epoch none = { 77 };
    switch (*(const int *)argument) {
    case 0:
        STATUS(tslab_epoch_close(none, 0, NULL), TSLAB_STALE);
        break;
    case 1:
        STATUS(tslab_epoch_leave(none), TSLAB_NOT_INSIDE);
        break;
    case 2:
        STATUS(tslab_epoch_enter(none), TSLAB_STALE);
        break;
    case 3:
        CHECK(tslab_epoch_list(NULL, 0) == 0 && same(tslab_epoch_current(), no_epoch));
        break;
    case 4:
        CHECK(tslab_epoch_malloc(none, 1) == NULL && errno == EINVAL);
        break;
    case 5:
        STATUS(tslab_instance_close((tslab_instance){ 77 }, 0, NULL), TSLAB_STALE);
        CHECK(tslab_instance_root((tslab_instance){ 77 }).id == 0);
        break;
    default:
        CHECK(tslab_handle_get(none, (tslab_handle){ 77 }) == NULL);
        STATUS(tslab_handle_free(none, (tslab_handle){ 77 }), TSLAB_STALE);
    }
}

CASE(any_call_may_be_the_first)
{
    for (int i = 0; i < 7; i++) {
        const struct child child = child_run(call_first, &i);
        CHECK_SAY(child.status == 0 && child.said[0] == 0, "call %d: %s", i, child.said);
    }
}
