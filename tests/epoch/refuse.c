/* What epochs are told, and what they refuse: options, arguments, values that name nobody, and the words for it. */
#include "epoch.h"

/* What nobody opened. */

static void values_that_name_none_are_refused(void)
{
    check_gone(no_epoch);
    const tslab_epoch epoch = opened();
    void *const p = filled(epoch, 100, 1);
    for (unsigned bit = 0; bit < 64; bit++) {
        check_gone((tslab_epoch){ epoch.id ^ (uint64_t)1 << bit });
    }
    for (uint64_t by = 1; by <= 100; by++) {
        check_gone((tslab_epoch){ epoch.id + by });
        check_gone((tslab_epoch){ epoch.id - by });
        check_gone((tslab_epoch){ by });
        check_gone((tslab_epoch){ UINT64_MAX - by });
    }
    uint64_t random = 7;
    for (size_t i = 0; i < times(100000); i++) {
        check_gone((tslab_epoch){ random_next(&random) });
    }
    CHECK(stats_of(epoch).live_objects == 1 && stats_of(epoch).inside == 0);
    verify_and_free(p, 100, 1);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

static int by_id(const void *a, const void *b)
{
    const uint64_t left = ((const tslab_epoch *)a)->id, right = ((const tslab_epoch *)b)->id;
    return left < right ? -1 : left > right;
}

/* Places are used again, values never. */
static void a_value_is_not_used_again(void)
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

static void options_are_kept(void)
{
    char label[100] = "a label of an epoch";
    const tslab_epoch parent = opened();
    struct tslab_epoch_options options = { .label = label, .parent = parent, .policy = TSLAB_POLICY_REPORT };
    const tslab_epoch epoch = opened_with(&options);
    memset(label, 'x', sizeof label - 1);
    options = (struct tslab_epoch_options){ 0 };
    struct tslab_epoch_stats stats = stats_of(epoch);
    CHECK(strcmp(stats.label, "a label of an epoch") == 0);
    CHECK(same(stats.parent, parent) && stats.policy == TSLAB_POLICY_REPORT && stats.state == TSLAB_EPOCH_OPEN);
    CHECK(stats.inside == 0 && stats.closed_ms == 0 && stats.live_objects == 0 && stats.live_bytes == 0);
    stats = stats_of(parent);
    CHECK(stats.label[0] == 0 && stats.parent.id == 0 && stats.policy == TSLAB_POLICY_DRAIN);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(parent, 0, NULL), TSLAB_OK);
    for (size_t length = 0; length < 64; length++) {
        memset(label, 'y', length);
        label[length] = 0;
        const tslab_epoch labelled = opened_as(label, TSLAB_POLICY_DRAIN);
        stats = stats_of(labelled);
        CHECK(strlen(stats.label) == (length < 31 ? length : 31) && strncmp(stats.label, label, 31) == 0);
        STATUS(tslab_epoch_close(labelled, 0, NULL), TSLAB_OK);
    }
}

static void check_bad_options(struct tslab_epoch_options options)
{
    const size_t before = tslab_epoch_list(NULL, 0);
    errno = 0;
    CHECK(tslab_epoch_open(&options).id == 0 && errno == EINVAL);
    CHECK(tslab_epoch_list(NULL, 0) == before);
}

static void bad_options_are_refused(void)
{
    const tslab_epoch gone = opened();
    STATUS(tslab_epoch_close(gone, 0, NULL), TSLAB_OK);
    const tslab_instance closed = tslab_instance_open("closed");
    CHECK(closed.id != 0);
    STATUS(tslab_instance_close(closed, 0, NULL), TSLAB_OK);
    for (unsigned policy = 1; policy < 300; policy++) {
        check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(policy) });
        check_bad_options(
            (struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(TSLAB_POLICY_TRAP + policy) });
    }
    check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(UINT32_MAX) });
    for (unsigned bit = 0; bit < 32; bit++) {
        check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(1u << bit) });
        if (1u << bit != TSLAB_OPEN_VOUCHED) {
            check_bad_options((struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(1u << bit) });
            check_bad_options(
                (struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(1u << bit | TSLAB_OPEN_VOUCHED) });
        }
    }
    check_bad_options((struct tslab_epoch_options){ .parent = gone });
    check_bad_options((struct tslab_epoch_options){ .parent = { UINT64_MAX } });
    check_bad_options((struct tslab_epoch_options){ .parent = { 1 } });
    check_bad_options((struct tslab_epoch_options){ .instance = closed });
    check_bad_options((struct tslab_epoch_options){ .instance = { UINT64_MAX } });
    check_bad_options((struct tslab_epoch_options){ .instance = { 12345678 } });
}

static void bad_arguments_are_refused(void)
{
    tslab_epoch epoch = opened();
    const tslab_epoch before = epoch;
    const tslab_instance instance = tslab_instance_open("arguments");
    void *const p = filled(epoch, 100, 1);
    for (unsigned bit = 0; bit < 32; bit++) {
        struct tslab_epoch_report report, untouched;
        memset(&report, 0x77, sizeof report);
        memset(&untouched, 0x77, sizeof untouched);
        for (unsigned flag = 0; flag <= TSLAB_CLOSE_RECLAIM && 1u << bit != TSLAB_CLOSE_RECLAIM;
             flag += TSLAB_CLOSE_RECLAIM) {
            const tslab_close_flags how = (tslab_close_flags)unseen(1u << bit | flag);
            STATUS(tslab_epoch_close(epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_epoch_release(epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_epoch_advance(&epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_instance_close(instance, how, &report), TSLAB_INVALID);
        }
        CHECK(memcmp(&report, &untouched, sizeof report) == 0);
    }
    STATUS(tslab_stats_get(NULL), TSLAB_INVALID);
    STATUS(tslab_epoch_stats_get(epoch, NULL), TSLAB_INVALID);
    CHECK(same(epoch, before) && stats_of(epoch).state == TSLAB_EPOCH_OPEN);
    verify_and_free(p, 100, 1);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* A value of one kind is none of another, so that a call that confuses them is refused. */
static void values_of_one_kind_are_none_of_another(void)
{
    static const unsigned policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                         TSLAB_POLICY_TRAP };
    tslab_epoch epoch = opened();
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        STATUS(tslab_epoch_close(epoch, (tslab_close_flags)unseen(policies[i]), NULL), TSLAB_INVALID);
        STATUS(tslab_epoch_release(epoch, (tslab_close_flags)unseen(policies[i]), NULL), TSLAB_INVALID);
        STATUS(tslab_epoch_advance(&epoch, (tslab_close_flags)unseen(policies[i]), NULL), TSLAB_INVALID);
        check_bad_options((struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(policies[i]) });
    }
    STATUS(tslab_epoch_close(epoch, (tslab_close_flags)unseen(TSLAB_OPEN_VOUCHED), NULL), TSLAB_INVALID);
    check_bad_options((struct tslab_epoch_options){ .flags = (tslab_open_flags)unseen(TSLAB_CLOSE_RECLAIM) });
    check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(TSLAB_CLOSE_RECLAIM) });
    check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen(TSLAB_OPEN_VOUCHED) });
    for (int status = TSLAB_INVALID; status <= TSLAB_PENDING; status++) {
        if (status != TSLAB_OK) {
            check_bad_options((struct tslab_epoch_options){ .policy = (enum tslab_policy)unseen((size_t)status) });
            STATUS(tslab_epoch_close(epoch, (tslab_close_flags)unseen((size_t)status), NULL), TSLAB_INVALID);
        }
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* An error leaves the report as it was. */
static void a_refused_call_writes_no_report(void)
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
    CHECK(memcmp(&report, &untouched, sizeof report) == 0);
}

/* Who closes an epoch again is told what keeps it. */
static void a_second_close_reports_what_is_left(void)
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

static void a_report_tells_of_the_survivors(void)
{
    const tslab_epoch epoch = opened();
    uint64_t random = 11;
    void *objects[1000];
    size_t bytes = 0, count = 0;
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = filled(epoch, some_size(&random), i);
    }
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        if (i % 10 == 0) {
            bytes += tslab_usable_size(objects[i]);
            count++;
        } else {
            tslab_free(objects[i]);
            objects[i] = NULL;
        }
    }
    usleep(30 * 1000);
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
    CHECK_SAY(report.survivors == count, "%llu survivors, not %zu", (unsigned long long)report.survivors, count);
    CHECK_SAY(report.survivor_bytes == bytes, "%llu bytes survive, not %zu", (unsigned long long)report.survivor_bytes,
              bytes);
    CHECK_SAY(report.age_ms >= 20 && report.age_ms < 1000 * HANG_SECONDS, "it is %llu ms old",
              (unsigned long long)report.age_ms);
    CHECK(report.reclaimed_bytes == 0 && report.rss_change_bytes == 0);
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        tslab_free(objects[i]);
    }
    check_gone(epoch);
}

static void every_status_has_a_sentence(void)
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
static void do_close_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_epoch_close((tslab_epoch){ 77 }, 0, NULL), TSLAB_STALE);
}

static void do_leave_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_epoch_leave((tslab_epoch){ 77 }), TSLAB_NOT_INSIDE);
}

static void do_enter_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_epoch_enter((tslab_epoch){ 77 }), TSLAB_STALE);
}

static void do_list_first(const void *argument)
{
    (void)argument;
    CHECK(tslab_epoch_list(NULL, 0) == 0);
    CHECK(same(tslab_epoch_current(), no_epoch));
}

static void do_malloc_first(const void *argument)
{
    (void)argument;
    CHECK(tslab_epoch_malloc((tslab_epoch){ 77 }, 1) == NULL && errno == EINVAL);
}

static void do_instance_first(const void *argument)
{
    (void)argument;
    STATUS(tslab_instance_close((tslab_instance){ 77 }, 0, NULL), TSLAB_STALE);
    CHECK(tslab_instance_root((tslab_instance){ 77 }).id == 0);
}

static void do_handle_first(const void *argument)
{
    (void)argument;
    CHECK(tslab_handle_get((tslab_epoch){ 77 }, (tslab_handle){ 77 }) == NULL);
    STATUS(tslab_handle_free((tslab_epoch){ 77 }, (tslab_handle){ 77 }), TSLAB_STALE);
}

static void any_call_may_be_the_first(void)
{
    static void (*const first[])(const void *) = {
        do_close_first,  do_leave_first,    do_enter_first,  do_list_first,
        do_malloc_first, do_instance_first, do_handle_first,
    };
    for (size_t i = 0; i < COUNT_OF(first); i++) {
        const struct child child = child_run(first[i], NULL);
        CHECK_SAY(child.status == 0 && child.said[0] == 0, "call %zu: %s", i, child.said);
    }
}

static const struct epoch_case cases[] = {
    CASE(values_that_name_none_are_refused),
    CASE(a_value_is_not_used_again),
    CASE(options_are_kept),
    CASE(bad_options_are_refused),
    CASE(bad_arguments_are_refused),
    CASE(a_refused_call_writes_no_report),
    CASE(values_of_one_kind_are_none_of_another),
    CASE(a_report_tells_of_the_survivors),
    CASE(a_second_close_reports_what_is_left),
    CASE(every_status_has_a_sentence),
    CASE(any_call_may_be_the_first),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
