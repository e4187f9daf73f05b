/* Units of work, and what TSLAB_EPOCH_POLICY makes of them. Each case is a program with the policy in its environment.
 */
#include "epoch.h"

#define POLICY(value) "TSLAB_EPOCH_POLICY=" value

static void begin(void)
{
    STATUS(tslab_work_begin("unit"), TSLAB_OK);
}

static void end(void)
{
    STATUS(tslab_work_end(), TSLAB_OK);
}

/* Where plain malloc lands. */
static tslab_epoch lands(void)
{
    void *const p = fill(tslab_malloc(100), 100, 1);
    const tslab_epoch epoch = tslab_epoch_of(p);
    tslab_free(p);
    return epoch;
}

/* The epoch that a whole unit is in. */
static tslab_epoch unit(void)
{
    begin();
    const tslab_epoch epoch = lands();
    CHECK(same(tslab_epoch_current(), epoch));
    tslab_free(tslab_malloc(3000));
    CHECK(same(lands(), epoch));
    end();
    CHECK(same(lands(), no_epoch));
    CHECK(same(tslab_epoch_current(), no_epoch));
    return epoch;
}

static void units_without_any_epoch(void)
{
    for (int i = 0; i < 10; i++) {
        CHECK(same(unit(), no_epoch));
        tslab_work_rotate();
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

static void never_is_the_default(void)
{
    CHECK(getenv("TSLAB_EPOCH_POLICY") == NULL);
    units_without_any_epoch();
}

static void never_does_nothing(void)
{
    units_without_any_epoch();
}

static void per_request_gives_each_unit_an_epoch(void)
{
    tslab_epoch before = no_epoch;
    for (int i = 0; i < 100; i++) {
        const tslab_epoch epoch = unit();
        CHECK(epoch.id != 0 && !same(epoch, before));
        check_gone(epoch);
        before = epoch;
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

static void survivors_of_a_unit_stay_valid(void)
{
    void *survivors[100];
    tslab_epoch epochs[COUNT_OF(survivors)];
    for (size_t i = 0; i < COUNT_OF(survivors); i++) {
        begin();
        survivors[i] = fill(tslab_malloc(100 + i), 100 + i, i);
        epochs[i] = tslab_epoch_of(survivors[i]);
        for (size_t n = 0; n < 200; n++) {
            tslab_free(tslab_malloc(50 + n));
        }
        end();
        const struct tslab_epoch_stats stats = stats_of(epochs[i]);
        CHECK(stats.policy == TSLAB_POLICY_DRAIN && stats.state == TSLAB_EPOCH_DRAINING && stats.live_objects == 1);
        CHECK(strcmp(stats.label, "unit") == 0);
    }
    for (size_t i = 0; i < COUNT_OF(survivors); i++) {
        verify_and_free(survivors[i], 100 + i, i);
        check_gone(epochs[i]);
    }
}

static void batches_of(size_t size)
{
    tslab_epoch before = no_epoch;
    for (size_t batch = 0; batch < 5; batch++) {
        const tslab_epoch epoch = unit();
        CHECK(epoch.id != 0 && !same(epoch, before));
        for (size_t i = 1; i < size; i++) {
            CHECK(stats_of(epoch).state == TSLAB_EPOCH_OPEN);
            CHECK_SAY(same(unit(), epoch), "unit %zu of %zu is in another epoch", i, size);
        }
        check_gone(epoch);
        before = epoch;
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

static void batch_1(void)
{
    batches_of(1);
}

static void batch_3(void)
{
    batches_of(3);
}

static void batch_of_many(void)
{
    batches_of(1000);
}

static void batch_of_the_most(void)
{
    const tslab_epoch epoch = unit();
    for (size_t i = 1; i < times(1000000) - 1; i++) {
        begin();
        end();
    }
    CHECK(same(unit(), epoch));
}

static void an_interval_ends_with_a_unit(void)
{
    tslab_epoch before = no_epoch;
    for (int i = 0; i < 4; i++) {
        const tslab_epoch epoch = unit();
        CHECK(epoch.id != 0 && !same(epoch, before));
        begin();
        /* However long it takes, a unit is in one epoch. If it has begun in this one, the time is up at its end. */
        const tslab_epoch during = lands();
        usleep(50 * 1000);
        CHECK(same(lands(), during));
        end();
        if (same(during, epoch)) {
            check_gone(epoch);
        }
        check_gone(during);
        before = during;
    }
}

static void a_long_interval_goes_on(void)
{
    const tslab_epoch epoch = unit();
    CHECK(epoch.id != 0);
    for (int i = 0; i < 1000; i++) {
        CHECK(same(unit(), epoch));
    }
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_OPEN);
}

static void manual_waits_for_rotate(void)
{
    tslab_epoch before = no_epoch;
    for (int i = 0; i < 5; i++) {
        const tslab_epoch epoch = unit();
        CHECK(epoch.id != 0 && !same(epoch, before));
        for (int n = 0; n < 20; n++) {
            CHECK(same(unit(), epoch));
        }
        tslab_work_rotate();
        before = epoch;
    }
    /* In the middle of a unit: from its end on. */
    begin();
    const tslab_epoch during = lands();
    tslab_work_rotate();
    CHECK(same(lands(), during));
    end();
    check_gone(during);
    CHECK(!same(unit(), during));
}

static void rotate_works_with_every_policy(void)
{
    const tslab_epoch first = unit();
    tslab_work_rotate();
    const tslab_epoch second = unit();
    CHECK(!same(first, second));
    check_gone(first);
    for (int i = 1; i < 100; i++) {
        CHECK(same(unit(), second));
    }
    CHECK(!same(unit(), second));
}

/* Threads have epochs of their own, and rotate reaches them all. */

static void do_unit(void *place)
{
    *(tslab_epoch *)place = unit();
}

static void threads_do_not_share(void)
{
    struct helper helpers[3];
    tslab_epoch epochs[COUNT_OF(helpers)], again[COUNT_OF(helpers)];
    for (size_t i = 0; i < COUNT_OF(helpers); i++) {
        helper_start(&helpers[i]);
        helper_does(&helpers[i], do_unit, &epochs[i]);
    }
    for (size_t i = 0; i < COUNT_OF(helpers); i++) {
        for (size_t other = 0; other < i; other++) {
            CHECK(!same(epochs[i], epochs[other]));
        }
        helper_does(&helpers[i], do_unit, &again[i]);
        CHECK(same(again[i], epochs[i]));
    }
    tslab_work_rotate();
    for (size_t i = 0; i < COUNT_OF(helpers); i++) {
        helper_does(&helpers[i], do_unit, &again[i]);
        CHECK(!same(again[i], epochs[i]));
        check_gone(epochs[i]);
    }
    for (size_t i = 0; i < COUNT_OF(helpers); i++) {
        helper_ends(&helpers[i]);
    }
    /* With their threads, the epochs end. */
    for (size_t i = 0; i < COUNT_OF(helpers); i++) {
        check_gone(again[i]);
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

static void *end_in_the_middle(void *argument)
{
    begin();
    begin();
    *(tslab_epoch *)argument = lands();
    (void)fill(tslab_malloc(100), 100, 1);
    tslab_work_pause();
    return NULL;
}

static void a_thread_may_end_in_a_unit(void)
{
    tslab_epoch epoch;
    in_a_thread(end_in_the_middle, &epoch);
    const struct tslab_epoch_stats stats = stats_of(epoch);
    CHECK(stats.inside == 0 && stats.live_objects == 1 && stats.state == TSLAB_EPOCH_DRAINING);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

/* Nesting, and ends without a beginning. */

static void only_the_outermost_unit_counts(void)
{
    for (int round = 0; round < 3; round++) {
        tslab_epoch epoch = no_epoch;
        for (int i = 0; i < 2; i++) {
            begin();
            CHECK(epoch.id == 0 || same(lands(), epoch));
            epoch = lands();
            for (int n = 0; n < 5; n++) {
                begin();
                CHECK(same(lands(), epoch));
                begin();
                end();
                end();
                CHECK(same(lands(), epoch));
            }
            end();
            CHECK(same(lands(), no_epoch));
        }
        check_gone(epoch);
    }
}

static void ends_need_beginnings(void)
{
    STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
    STATUS(tslab_work_resume(), TSLAB_NOT_INSIDE);
    begin();
    STATUS(tslab_work_resume(), TSLAB_NOT_INSIDE);
    end();
    STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
    tslab_work_pause();
    tslab_work_pause();
    STATUS(tslab_work_resume(), TSLAB_OK);
    STATUS(tslab_work_resume(), TSLAB_OK);
    STATUS(tslab_work_resume(), TSLAB_NOT_INSIDE);
    CHECK(same(lands(), no_epoch));
    (void)unit();
}

static void *end_of_another(void *unused)
{
    STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
    STATUS(tslab_work_resume(), TSLAB_NOT_INSIDE);
    return NULL;
}

static void a_unit_ends_on_its_own_thread(void)
{
    begin();
    tslab_work_pause();
    in_a_thread(end_of_another, NULL);
    STATUS(tslab_work_resume(), TSLAB_OK);
    end();
}

/* Pauses. */

static void pause_lets_work_out_of_its_unit(void)
{
    begin();
    const tslab_epoch epoch = lands();
    tslab_work_pause();
    void *const kept = fill(tslab_malloc(100), 100, 7);
    CHECK(same(tslab_epoch_of(kept), no_epoch));
    tslab_work_pause();
    CHECK(same(lands(), no_epoch));
    STATUS(tslab_work_resume(), TSLAB_OK);
    CHECK(same(lands(), no_epoch));
    tslab_free(filled(epoch, 100, 1)); /* by name it can be reached all the same */
    STATUS(tslab_work_resume(), TSLAB_OK);
    CHECK(same(lands(), epoch));
    CHECK(same(tslab_epoch_current(), epoch));
    end();
    check_gone(epoch);
    verify_and_free(kept, 100, 7);
}

static void pause_also_pauses_epochs_entered_by_hand(void)
{
    const tslab_epoch outer = opened(), inner = opened();
    enter(outer);
    enter(inner);
    tslab_work_pause();
    CHECK(same(lands(), no_epoch));
    STATUS(tslab_work_resume(), TSLAB_OK);
    CHECK(same(lands(), inner) && same(tslab_epoch_current(), inner));
    leave(inner);
    CHECK(same(lands(), outer));
    tslab_work_pause();
    CHECK(same(lands(), no_epoch));
    STATUS(tslab_work_resume(), TSLAB_OK);
    leave(outer);
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(inner, 0, NULL), TSLAB_OK);
}

/* Scopes by hand inside of a unit, and units inside of scopes. */
static void units_and_scopes_nest(void)
{
    const tslab_epoch by_hand = opened();
    begin();
    const tslab_epoch of_unit = lands();
    enter(by_hand);
    CHECK(same(lands(), by_hand));
    leave(by_hand);
    CHECK(same(lands(), of_unit));
    end();
    check_gone(of_unit);
    enter(by_hand);
    begin();
    CHECK(lands().id != 0 && !same(lands(), by_hand));
    end();
    CHECK(same(lands(), by_hand));
    leave(by_hand);
    STATUS(tslab_epoch_close(by_hand, 0, NULL), TSLAB_OK);
}

/* A thread that entered an epoch in a unit leaves it first. */
static void a_unit_ends_where_it_began(void)
{
    const tslab_epoch by_hand = opened();
    begin();
    const tslab_epoch of_unit = lands();
    enter(by_hand);
    STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
    CHECK(same(tslab_epoch_current(), by_hand) && same(lands(), by_hand));
    leave(by_hand);
    CHECK(same(lands(), of_unit));
    end();
    STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
    CHECK(same(lands(), no_epoch));
    STATUS(tslab_epoch_close(by_hand, 0, NULL), TSLAB_OK);
}

/* The result of the end of a unit does not depend on the policy. */
static void the_end_of_a_unit_says_what_was_not_left(void)
{
    const tslab_epoch outer = opened(), first = opened(), second = opened();
    enter(outer);
    for (int i = 0; i < 3; i++) {
        begin();
        enter(first);
        begin();
        enter(second);
        end(); /* an inner one does not count */
        STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
        leave(second);
        STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
        CHECK(same(tslab_epoch_current(), first));
        leave(first);
        end();
        CHECK(same(tslab_epoch_current(), outer) && same(lands(), outer));
        STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
    }
    /* An epoch of the program's that it advances in a unit was there before, and may be left in it. */
    tslab_epoch advanced = outer;
    begin();
    if (same(tslab_epoch_current(), outer)) {
        STATUS(tslab_epoch_advance(&advanced, 0, NULL), TSLAB_OK);
    }
    end();
    leave(advanced);
    STATUS(tslab_epoch_close(advanced, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(first, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(second, 0, NULL), TSLAB_OK);
}

/* The unit goes on in the epoch that the program has advanced to, and ends with it. */
static void a_unit_may_be_advanced(void)
{
    begin();
    tslab_epoch epoch = tslab_epoch_current();
    const tslab_epoch before = epoch;
    STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_OK);
    CHECK(!same(epoch, before) && same(lands(), epoch));
    end();
    CHECK(same(tslab_epoch_current(), no_epoch) && same(lands(), no_epoch));
    check_gone(before);
    begin();
    const tslab_epoch next = tslab_epoch_current();
    const bool shared = strcmp(getenv("TSLAB_EPOCH_POLICY"), "per-request") != 0;
    CHECK(same(next, epoch) == shared);
    end();
}

/* A worker as in a server, in every policy: memory does not grow. */
/* The epoch of units that the program has closed by hand is over, and the next unit has another. */
static void a_unit_s_epoch_may_be_closed_by_hand(void)
{
    for (size_t way = 0; way < 6; way++) {
        begin();
        tslab_epoch epoch = tslab_epoch_current();
        void *const p = filled(epoch, 100, way);
        if (way % 3 == 0) {
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
            CHECK(tslab_epoch_of(tslab_malloc(10)).id == 0);
        } else if (way % 3 == 1) {
            leave(epoch);
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        } else {
            const tslab_epoch before = epoch;
            STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_OK);
            CHECK(same(tslab_epoch_current(), epoch));
            leave(epoch);
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
            epoch = before;
        }
        end();
        CHECK(tslab_epoch_current().id == 0 && stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
        if (way < 3) {
            verify_and_free(p, 100, way);
            check_gone(epoch);
        }
        begin();
        const tslab_epoch next = tslab_epoch_current();
        CHECK(next.id != 0 && !same(next, epoch));
        if (way >= 3) {
            verify_and_free(p, 100, way);
            check_gone(epoch);
        }
        end();
        tslab_work_rotate();
    }
}

static void serve(void)
{
    static void *sessions[64];
    uint64_t random = 3;
    struct tslab_stats stats;
    size_t warm = 0;
    for (size_t i = 0; i < times(20000); i++) {
        begin();
        void *parsed[50];
        for (size_t n = 0; n < COUNT_OF(parsed); n++) {
            parsed[n] = fill(tslab_malloc(16 + n * 9), 16 + n * 9, n);
        }
        const size_t at = below(&random, COUNT_OF(sessions));
        if (sessions[at] != NULL) {
            verify_and_free(sessions[at], 200, at);
        }
        sessions[at] = fill(tslab_malloc(200), 200, at);
        for (size_t n = 0; n < COUNT_OF(parsed); n++) {
            verify_and_free(parsed[n], 16 + n * 9, n);
        }
        end();
        if (i == times(20000) / 4) {
            tslab_stats_get(&stats);
            warm = stats.committed_bytes + stats.metadata_bytes;
        }
    }
    tslab_stats_get(&stats);
    CHECK_SAY(stats.committed_bytes + stats.metadata_bytes <= warm + 6 * MEGABYTE, "from %zu to %zu bytes", warm,
              stats.committed_bytes + stats.metadata_bytes);
    CHECK_SAY(tslab_epoch_list(NULL, 0) <= COUNT_OF(sessions) + 1, "there are %zu epochs", tslab_epoch_list(NULL, 0));
}

/* Bad values are said once, by whichever thread comes first, and mean never. */

static void *some_units(void *unused)
{
    CHECK(same(unit(), no_epoch));
    CHECK(same(unit(), no_epoch));
    return NULL;
}

static void bad_values_mean_never(void)
{
    units_without_any_epoch();
    in_a_thread(some_units, NULL);
    units_without_any_epoch();
}

static void use_bad_value(const void *value)
{
    char variable[100];
    snprintf(variable, sizeof variable, POLICY("%s"), (const char *)value);
    exec_case("bad_values_mean_never", variable);
}

static void bad_values_are_said_and_mean_never(void **state)
{
    static const char *const values[] = {
        "",
        "per_request",
        "per-request ",
        " never",
        "sometimes",
        "batch",
        "batch-",
        "batch-0",
        "batch-86400001",
        "batch--1",
        "batch-+3",
        "batch-3x",
        "batch-3.5",
        "batch-99999999999999999999",
        "batch-18446744073709551617",
        "interval",
        "interval-",
        "interval-0",
        "interval-86400001",
        "interval-10ms",
        "manual-1",
        "never-1",
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        const struct child child = child_run(use_bad_value, values[i]);
        if (child.status != 0) {
            fail_msg("\"%s\": status %#x, \"%s\"", values[i], (unsigned)child.status, child.said);
        }
        const char *const end_of_line = strchr(child.said, '\n');
        if (end_of_line == NULL || end_of_line[1] != 0 || strncmp(child.said, "tslab: ", 7) != 0 ||
            strstr(child.said, "TSLAB_EPOCH_POLICY") == NULL || strstr(child.said, values[i]) == NULL ||
            strstr(child.said, "never") == NULL) {
            fail_msg("\"%s\" is answered by \"%s\"", values[i], child.said);
        }
    }
}

static const struct epoch_case cases[] = {
    CASE(never_is_the_default),
    CASE_WITH(POLICY("never"), never_does_nothing),
    CASE_WITH(POLICY("per-request"), per_request_gives_each_unit_an_epoch),
    CASE_WITH(POLICY("per-request"), survivors_of_a_unit_stay_valid),
    CASE_WITH(POLICY("batch-1"), batch_1),
    CASE_WITH(POLICY("batch-3"), batch_3),
    CASE_WITH(POLICY("batch-1000"), batch_of_many),
    CASE_WITH(POLICY("batch-1000000"), batch_of_the_most),
    CASE_WITH(POLICY("interval-30"), an_interval_ends_with_a_unit),
    CASE_WITH(POLICY("interval-86400000"), a_long_interval_goes_on),
    CASE_WITH(POLICY("manual"), manual_waits_for_rotate),
    CASE_WITH(POLICY("batch-100"), rotate_works_with_every_policy),
    CASE_WITH(POLICY("manual"), threads_do_not_share),
    CASE_WITH(POLICY("per-request"), a_thread_may_end_in_a_unit),
    CASE_WITH(POLICY("batch-5"), a_thread_may_end_in_a_unit),
    CASE_WITH(POLICY("manual"), a_thread_may_end_in_a_unit),
    CASE_WITH(POLICY("interval-100000"), a_thread_may_end_in_a_unit),
    CASE_WITH(POLICY("batch-2"), only_the_outermost_unit_counts),
    CASE_WITH(POLICY("never"), ends_need_beginnings),
    CASE_WITH(POLICY("per-request"), ends_need_beginnings),
    CASE_WITH(POLICY("per-request"), a_unit_ends_on_its_own_thread),
    CASE_WITH(POLICY("per-request"), pause_lets_work_out_of_its_unit),
    CASE_WITH(POLICY("never"), pause_also_pauses_epochs_entered_by_hand),
    CASE_WITH(POLICY("manual"), pause_also_pauses_epochs_entered_by_hand),
    CASE_WITH(POLICY("per-request"), units_and_scopes_nest),
    CASE_WITH(POLICY("per-request"), a_unit_ends_where_it_began),
    CASE_WITH(POLICY("batch-3"), a_unit_ends_where_it_began),
    CASE_WITH(POLICY("never"), the_end_of_a_unit_says_what_was_not_left),
    CASE_WITH(POLICY("per-request"), the_end_of_a_unit_says_what_was_not_left),
    CASE_WITH(POLICY("batch-2"), the_end_of_a_unit_says_what_was_not_left),
    CASE_WITH(POLICY("interval-100000"), the_end_of_a_unit_says_what_was_not_left),
    CASE_WITH(POLICY("manual"), the_end_of_a_unit_says_what_was_not_left),
    CASE_WITH(POLICY("per-request"), a_unit_may_be_advanced),
    CASE_WITH(POLICY("batch-2"), a_unit_may_be_advanced),
    CASE_WITH(POLICY("manual"), a_unit_may_be_advanced),
    CASE_WITH(POLICY("per-request"), a_unit_s_epoch_may_be_closed_by_hand),
    CASE_WITH(POLICY("batch-1000"), a_unit_s_epoch_may_be_closed_by_hand),
    CASE_WITH(POLICY("manual"), a_unit_s_epoch_may_be_closed_by_hand),
    CASE_WITH(POLICY("never"), serve),
    CASE_WITH(POLICY("per-request"), serve),
    CASE_WITH(POLICY("batch-10"), serve),
    CASE_WITH(POLICY("interval-5"), serve),
    CASE_WITH(POLICY("manual"), serve),
    CASE(bad_values_mean_never),
    TEST(bad_values_are_said_and_mean_never),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
