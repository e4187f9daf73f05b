/* How an epoch ends: closed, released or advanced, while nobody is inside or somebody is, and what becomes of those who
 * are. */
#include "epoch.h"

static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                              TSLAB_POLICY_TRAP };

/* A closed epoch that is still there takes nobody in. */
static void check_entry_closed(tslab_epoch epoch)
{
    const tslab_epoch current = tslab_epoch_current();
    STATUS(tslab_epoch_enter(epoch), TSLAB_CLOSED);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_CLOSED);
    tslab_epoch advanced = epoch;
    STATUS(tslab_epoch_advance(&advanced, 0, NULL), TSLAB_CLOSED);
    CHECK(same(advanced, epoch));
    CHECK(same(tslab_epoch_current(), current));
}

static void do_check_entry_closed(void *epoch)
{
    check_entry_closed(*(tslab_epoch *)epoch);
}

/* Nor does the thread that closed it, or one that is outside, get anything from it. */
static void check_closed(tslab_epoch epoch)
{
    const struct tslab_epoch_stats before = stats_of(epoch);
    CHECK(before.state != TSLAB_EPOCH_OPEN);
    check_entry_closed(epoch);
    errno = 0;
    CHECK(tslab_epoch_malloc(epoch, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_epoch_calloc(epoch, 2, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_epoch_aligned_alloc(epoch, 64, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_handle_malloc(epoch, 10, NULL).id == 0 && errno == EINVAL);
    const struct tslab_epoch_stats after = stats_of(epoch);
    CHECK(after.state == before.state && after.inside == before.inside && after.live_objects == before.live_objects &&
          after.live_bytes == before.live_bytes);
}

static void a_drained_epoch_is_gone(void)
{
    const tslab_epoch epoch = opened();
    void *objects[100];
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = filled(epoch, 100, i);
    }
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
    CHECK(report.survivors == COUNT_OF(objects));
    CHECK(report.reclaimed_bytes == 0 && report.rss_change_bytes == 0);
    check_closed(epoch);
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        ALIVE(epoch, COUNT_OF(objects) - i);
        CHECK(same(tslab_epoch_of(objects[i]), epoch));
        verify_and_free(objects[i], 100, i);
    }
    check_gone(epoch);
}

static void the_last_to_leave_completes_a_close(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .policy = policies[i] });
        struct helper helpers[2];
        for (size_t n = 0; n < COUNT_OF(helpers); n++) {
            helper_start(&helpers[n]);
            helper_does(&helpers[n], do_enter, &epoch);
        }
        enter(epoch);
        const bool survivors = policies[i] != TSLAB_POLICY_REPORT;
        void *const p = survivors ? filled(epoch, 500, i) : NULL;
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_PENDING);
        CHECK(stats_of(epoch).inside == 3 && stats_of(epoch).state == TSLAB_EPOCH_CLOSING);
        check_closed(epoch);
        for (size_t n = 0; n < COUNT_OF(helpers); n++) {
            helper_does(&helpers[n], do_check_entry_closed, &epoch);
        }
        /* It is still inside, so its survivors are whole, and what it frees is freed. */
        leave(epoch);
        helper_does(&helpers[0], do_leave, &epoch);
        if (survivors) {
            verify(p, 500, i);
        }
        CHECK(stats_of(epoch).inside == 1 && stats_of(epoch).state == TSLAB_EPOCH_CLOSING);
        check_closed(epoch);
        helper_does(&helpers[1], do_leave, &epoch);
        if (policies[i] == TSLAB_POLICY_DRAIN) {
            CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
            check_closed(epoch);
            verify(p, 500, i);
            helper_does(&helpers[0], do_free, p);
        }
        check_gone(epoch);
        for (size_t n = 0; n < COUNT_OF(helpers); n++) {
            helper_ends(&helpers[n]);
        }
    }
}

static void go_on_inside(tslab_epoch epoch)
{
    enter(epoch);
    void *objects[300];
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = filled(epoch, 16 * (i % 30) + 1, i);
    }
    STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_PENDING);
    CHECK(same(tslab_epoch_current(), epoch));
    /* It may allocate, but the epoch takes nothing more. */
    void *others[1000];
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        others[i] = fill(tslab_malloc(100), 100, i);
        CHECK(same(tslab_epoch_of(others[i]), no_epoch));
    }
    for (size_t i = 0; i < COUNT_OF(objects); i += 2) {
        verify_and_free(objects[i], 16 * (i % 30) + 1, i);
        /* Nor does it when there is room again. */
        void *const p = fill(tslab_malloc(16 * (i % 30) + 1), 16 * (i % 30) + 1, i);
        CHECK(same(tslab_epoch_of(p), no_epoch));
        tslab_free(p);
        CHECK(tslab_epoch_malloc(epoch, 16 * (i % 30) + 1) == NULL);
    }
    ALIVE(epoch, COUNT_OF(objects) / 2);
    leave(epoch);
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
    for (size_t i = 1; i < COUNT_OF(objects); i += 2) {
        verify_and_free(objects[i], 16 * (i % 30) + 1, i);
    }
    check_gone(epoch);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        verify_and_free(others[i], 100, i);
    }
}

static void whoever_is_inside_of_a_closed_epoch_can_go_on(void)
{
    go_on_inside(opened());
    const tslab_epoch old = opened();
    grow_old(old);
    go_on_inside(old);
}

/* However deep the scopes of the closed epoch lie, and whichever of them is the innermost: `which` has a bit for each.
 */
static void take_nothing(unsigned which, unsigned depth, tslab_epoch closed, bool advances)
{
    const tslab_epoch other = opened();
    tslab_epoch next = closed;
    for (unsigned i = 0; i < depth; i++) {
        enter((which >> i & 1) != 0 ? closed : other);
        tslab_free(fill(tslab_malloc(100), 100, 2)); /* so that there is room at hand */
        tslab_free(filled(closed, 100, 2));
    }
    void *p = filled(closed, 100, 1);
    if (advances && (which >> (depth - 1) & 1) != 0) {
        /* It takes the innermost scope along. */
        if ((which & ((1u << (depth - 1)) - 1)) == 0) {
            tslab_free(p);
            STATUS(tslab_epoch_advance(&next, 0, NULL), TSLAB_OK);
            p = filled(next, 100, 1);
        } else {
            STATUS(tslab_epoch_advance(&next, 0, NULL), TSLAB_PENDING);
            check_closed(closed);
        }
        CHECK(same(tslab_epoch_current(), next));
        leave(next);
        depth--;
    } else {
        STATUS(advances ? tslab_epoch_advance(&next, 0, NULL) : tslab_epoch_close(closed, 0, NULL), TSLAB_PENDING);
    }
    for (unsigned i = depth; i-- > 0 && (which & ((2u << i) - 1)) != 0;) {
        const bool inside = (which >> i & 1) != 0;
        check_closed(closed);
        void *const q = fill(tslab_malloc(100), 100, 3);
        CHECK_SAY(same(tslab_epoch_of(q), inside ? no_epoch : other), "scopes %#x, depth %u", which, i);
        tslab_free(q);
        p = tslab_realloc(p, 10000);
        CHECK(p != NULL && !same(tslab_epoch_of(p), closed)); /* which it has left at the first of these */
        leave(inside ? closed : other);
    }
    while (tslab_epoch_current().id != 0) {
        leave(other);
    }
    check_gone(closed);
    tslab_free(p);
    STATUS(tslab_epoch_close(other, 0, NULL), TSLAB_OK);
    check_gone(other);
    if (advances) {
        STATUS(tslab_epoch_close(next, 0, NULL), TSLAB_OK);
    }
}

static void a_closed_epoch_takes_nothing_at_any_depth(void)
{
    enum { SCOPES = 6 };
    for (unsigned which = 1; which < 1u << SCOPES; which++) {
        for (size_t i = 0; i < 4 * COUNT_OF(policies); i++) {
            const bool advances = i % 2 == 1, old = i % 4 >= 2 && which % 8 == 1;
            const struct tslab_epoch_options options = { .policy = policies[i / 4], .flags = TSLAB_OPEN_VOUCHED };
            const tslab_epoch closed = opened_with(&options);
            if (old) {
                grow_old(closed);
            }
            take_nothing(which, SCOPES, closed, advances);
        }
    }
}

static void a_closed_scope_may_be_outside_of_an_open_one(void)
{
    const tslab_epoch outer = opened(), inner = opened();
    enter(outer);
    void *const p = filled(outer, 100, 1);
    enter(inner);
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_PENDING);
    void *const q = fill(tslab_malloc(100), 100, 2);
    CHECK(same(tslab_epoch_of(q), inner));
    leave(inner);
    CHECK(same(tslab_epoch_current(), outer));
    verify_and_free(q, 100, 2);
    verify_and_free(p, 100, 1);
    leave(outer);
    check_gone(outer);
    STATUS(tslab_epoch_close(inner, 0, NULL), TSLAB_OK);
}

/* Releasing. */

static void do_check_busy(void *argument)
{
    tslab_epoch epoch = *(tslab_epoch *)argument;
    struct tslab_epoch_report report, untouched;
    memset(&report, 0x77, sizeof report);
    memset(&untouched, 0x77, sizeof untouched);
    const struct tslab_epoch_stats before = stats_of(epoch);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_BUSY);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_BUSY);
    CHECK(memcmp(&report, &untouched, sizeof report) == 0);
    const struct tslab_epoch_stats after = stats_of(epoch);
    CHECK(after.state == before.state && after.inside == before.inside && after.live_objects == before.live_objects &&
          after.live_bytes == before.live_bytes && after.memory_bytes == before.memory_bytes);
}

static void release_waits_for_nobody(void)
{
    tslab_epoch epoch = opened();
    struct helper helper;
    helper_start(&helper);
    void *const p = filled(epoch, 5000, 1);
    /* Another thread is inside, this one, both. */
    helper_does(&helper, do_enter, &epoch);
    do_check_busy(&epoch);
    helper_does(&helper, do_check_busy, &epoch);
    enter(epoch);
    do_check_busy(&epoch);
    helper_does(&helper, do_leave, &epoch);
    do_check_busy(&epoch);
    tslab_free(filled(epoch, 40, 2));
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
    do_check_busy(&epoch);
    helper_does(&helper, do_check_busy, &epoch);
    leave(epoch);
    verify(p, 5000, 1);
    CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_release(epoch, 0, &report), TSLAB_OK);
    CHECK(report.survivors == 1 && report.survivor_bytes >= 5000);
    check_gone(epoch);
    helper_ends(&helper);
}

static void release_ends_every_policy(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (int closed = 0; closed < 2; closed++) {
            if (closed != 0 && policies[i] != TSLAB_POLICY_DRAIN) {
                continue; /* nothing is left of them, or a line on stderr says what */
            }
            const tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .policy = policies[i] });
            for (size_t n = 0; n < 1000; n++) {
                (void)filled(epoch, 16 + n, n);
            }
            (void)filled(epoch, 3 * MEGABYTE, 1);
            if (closed != 0) {
                STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
            }
            struct tslab_epoch_report report;
            STATUS(tslab_epoch_release(epoch, 0, &report), TSLAB_OK);
            CHECK(report.survivors == 1001);
            CHECK(report.survivor_bytes >= 3 * MEGABYTE + 500 * 1000);
            CHECK(report.reclaimed_bytes == 0 && report.rss_change_bytes == 0);
            check_gone(epoch);
        }
    }
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.large_bytes == 0, "%zu bytes of large objects are left", stats.large_bytes);
}

static void an_empty_epoch_can_be_released(void)
{
    const tslab_epoch epoch = opened();
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
    CHECK(report.survivors == 0 && report.survivor_bytes == 0);
    check_gone(epoch);
}

/* Advancing. */

static void advance_opens_the_next_with_the_same_options(void)
{
    const tslab_epoch parent = opened_as("parent", TSLAB_POLICY_DRAIN);
    const tslab_instance instance = tslab_instance_open("instance");
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        tslab_epoch epoch = opened_with(&(struct tslab_epoch_options){ .label = "generation",
                                                                       .parent = parent,
                                                                       .instance = instance,
                                                                       .policy = policies[i],
                                                                       .flags = TSLAB_OPEN_VOUCHED });
        for (int n = 0; n < 10; n++) {
            const tslab_epoch before = epoch;
            struct tslab_epoch_report report;
            tslab_free(filled(epoch, 100, 1));
            STATUS(tslab_epoch_advance(&epoch, 0, &report), TSLAB_OK);
            CHECK(report.survivors == 0);
            CHECK(!same(epoch, before));
            check_gone(before);
            const struct tslab_epoch_stats stats = stats_of(epoch);
            CHECK(strcmp(stats.label, "generation") == 0);
            CHECK(same(stats.parent, parent) && stats.instance.id == instance.id && stats.policy == policies[i]);
            CHECK(stats.state == TSLAB_EPOCH_OPEN && stats.inside == 0);
            STATUS(tslab_epoch_enter(epoch), entered_status(policies[i], TSLAB_OPEN_VOUCHED));
            leave(epoch);
        }
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    }
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(parent, 0, NULL), TSLAB_OK);
}

static void advance_takes_the_innermost_scope_along(void)
{
    const tslab_epoch outer = opened();
    tslab_epoch epoch = opened();
    enter(outer);
    enter(epoch);
    void *survivors[20];
    for (size_t i = 0; i < COUNT_OF(survivors); i++) {
        const tslab_epoch before = epoch;
        survivors[i] = fill(tslab_malloc(100), 100, i);
        CHECK(same(tslab_epoch_of(survivors[i]), before));
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_advance(&epoch, 0, &report), TSLAB_OK);
        CHECK(report.survivors == 1);
        CHECK(same(tslab_epoch_current(), epoch) && !same(epoch, before));
        CHECK(stats_of(epoch).inside == 1);
        CHECK(stats_of(before).inside == 0 && stats_of(before).state == TSLAB_EPOCH_DRAINING);
        if (i % 2 == 0) {
            verify_and_free(survivors[i], 100, i);
            check_gone(before);
        }
    }
    leave(epoch);
    CHECK(same(tslab_epoch_current(), outer));
    leave(outer);
    for (size_t i = 1; i < COUNT_OF(survivors); i += 2) {
        verify_and_free(survivors[i], 100, i);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_OK);
}

static void advance_of_another_scope_leaves_this_thread_where_it_is(void)
{
    tslab_epoch outer = opened();
    const tslab_epoch old = outer, inner = opened();
    enter(outer);
    tslab_free(filled(outer, 100, 1));
    enter(inner);
    STATUS(tslab_epoch_advance(&outer, 0, NULL), TSLAB_PENDING);
    CHECK(!same(outer, old));
    CHECK(same(tslab_epoch_current(), inner));
    CHECK(stats_of(outer).inside == 0 && stats_of(old).state == TSLAB_EPOCH_CLOSING);
    check_closed(old);
    leave(inner);
    CHECK(same(tslab_epoch_current(), old));
    void *const p = fill(tslab_malloc(100), 100, 1);
    CHECK(same(tslab_epoch_of(p), no_epoch));
    tslab_free(p);
    leave(old);
    check_gone(old);
    CHECK(same(tslab_epoch_current(), no_epoch));
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(inner, 0, NULL), TSLAB_OK);
}

static void advance_while_another_is_inside_is_pending(void)
{
    tslab_epoch epoch = opened();
    tslab_epoch old = epoch;
    struct helper helper;
    helper_start(&helper);
    helper_does(&helper, do_enter, &old);
    enter(epoch);
    STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_PENDING);
    CHECK(same(tslab_epoch_current(), epoch) && !same(epoch, old));
    CHECK(stats_of(old).inside == 1 && stats_of(epoch).inside == 1);
    helper_does(&helper, do_leave, &old);
    check_gone(old);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    helper_ends(&helper);
}

static const struct epoch_case cases[] = {
    CASE(a_drained_epoch_is_gone),
    CASE(the_last_to_leave_completes_a_close),
    CASE(whoever_is_inside_of_a_closed_epoch_can_go_on),
    CASE(a_closed_epoch_takes_nothing_at_any_depth),
    CASE(a_closed_scope_may_be_outside_of_an_open_one),
    CASE(release_waits_for_nobody),
    CASE(release_ends_every_policy),
    CASE(an_empty_epoch_can_be_released),
    CASE(advance_opens_the_next_with_the_same_options),
    CASE(advance_takes_the_innermost_scope_along),
    CASE(advance_of_another_scope_leaves_this_thread_where_it_is),
    CASE(advance_while_another_is_inside_is_pending),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
