/* Limits of epochs: what exceeds them is refused, in the epoch alone, and what is freed is there again. */
#include "epoch.h"
#include "figures.h"

enum { LIMIT_MIB = 4, LIMIT_BYTES = LIMIT_MIB << 20, SLACK_BYTES = 64 << 10, MOST = 20000 };

static void *objects[MOST];

static tslab_epoch limited(enum tslab_policy policy)
{
    const struct tslab_epoch_options options = { .label = "limited", .policy = policy, .limit_bytes = LIMIT_MIB << 20 };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    CHECK(epoch.id != 0);
    return epoch;
}

/* Allocates until it is refused. Returns how many bytes were granted. */
static size_t fill_up(tslab_epoch epoch, size_t size)
{
    size_t n = 0;
    errno = 0;
    while (n < MOST && (objects[n] = tslab_epoch_malloc(epoch, size)) != NULL) {
        memset(objects[n], 1, size);
        n++;
    }
    CHECK_SAY(n < MOST && errno == ENOMEM, "%zu objects of %zu bytes, errno %d", n, size, errno);
    return n * size;
}

CASE(what_exceeds_is_refused)
{
    static const size_t sizes[] = { 300, 1000, 5000, 30000, 100000, 1 << 20 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const tslab_epoch epoch = limited(TSLAB_POLICY_RELEASE);
        const size_t bytes = fill_up(epoch, sizes[i]);
        CHECK_SAY(bytes <= (LIMIT_MIB << 20) + (64 << 10) && bytes >= (LIMIT_MIB << 20) * 2 / 3, "%zu of %zu bytes",
                  bytes, sizes[i]);
        CHECK(stats_of(epoch).memory_bytes <= (LIMIT_MIB << 20) + (64 << 10));
        void *const elsewhere = malloc(2 * (LIMIT_MIB << 20));
        CHECK(elsewhere != NULL);
        free(elsewhere);
        STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        /* The same record serves the next epoch, which has no limit. */
        const tslab_epoch next = opened();
        CHECK(tslab_epoch_malloc(next, 2 * LIMIT_BYTES) != NULL);
        STATUS(tslab_epoch_release(next, 0, NULL), TSLAB_OK);
    }
}

CASE(what_is_freed_is_there_again)
{
    const tslab_epoch epoch = limited(TSLAB_POLICY_DRAIN);
    for (unsigned round = 0; round < 10; round++) {
        const size_t size = round % 2 == 0 ? 100000 : 20000;
        const size_t bytes = fill_up(epoch, size);
        CHECK_SAY(bytes >= (LIMIT_MIB << 20) / 2, "round %u: %zu bytes", round, bytes);
        for (size_t i = 0; i < bytes / size; i++) {
            tslab_free(objects[i]);
        }
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* Plain malloc inside of a scope, and realloc, say so, too. */
CASE(plain_malloc_is_refused)
{
    const tslab_epoch epoch = limited(TSLAB_POLICY_DRAIN);
    tslab_epoch_enter(epoch);
    size_t n = 0;
    errno = 0;
    while (n < MOST && (objects[n] = tslab_malloc(50000)) != NULL) {
        n++;
    }
    CHECK_SAY(n > 40 && n < 90 && errno == ENOMEM, "%zu objects", n);
    CHECK(tslab_realloc(objects[0], 3 << 20) == NULL && errno == ENOMEM);
    CHECK(tslab_calloc(1, 3 << 20) == NULL);
    for (size_t i = 0; i < n; i++) {
        tslab_free(objects[i]);
    }
    void *large = tslab_malloc(1 << 20);
    CHECK(large != NULL && (large = tslab_realloc(large, 3 << 20)) != NULL);
    CHECK(tslab_malloc(2 << 20) == NULL);
    CHECK((large = tslab_realloc(large, 1 << 20)) != NULL);
    void *const other = tslab_malloc(2 << 20);
    CHECK(other != NULL);
    tslab_free(other);
    tslab_free(large);
    STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

CASE(the_next_of_an_advance_has_it_too)
{
    tslab_epoch epoch = limited(TSLAB_POLICY_RELEASE);
    STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_OK);
    CHECK(fill_up(epoch, 30000) <= (LIMIT_MIB << 20) + (64 << 10));
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
}

/* The members of an instance share its limit, in chunks, slabs and large runs, and what ends makes room. */
CASE(an_instance_has_one_for_all)
{
    enum { MEMBERS = 8 };
    static const size_t sizes[] = { 300, 3000, 30000, 100000 };
    const tslab_instance instance = tslab_instance_open("limited"), gone = tslab_instance_open("gone");
    STATUS(tslab_instance_limit(instance, LIMIT_MIB << 20), TSLAB_OK);
    STATUS(tslab_instance_close(gone, 0, NULL), TSLAB_OK);
    STATUS(tslab_instance_limit(gone, 1), TSLAB_STALE);
    STATUS(tslab_instance_limit((tslab_instance){ 0 }, 1), TSLAB_STALE);
    for (unsigned round = 0; round < 20; round++) {
        const struct tslab_epoch_options options = {
            .label = "member",
            .policy = round % 2 == 0 ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN,
            .instance = instance,
        };
        const size_t size = sizes[round % COUNT_OF(sizes)];
        tslab_epoch members[MEMBERS];
        size_t bytes = fill_up(tslab_instance_root(instance), size), filled = 0;
        for (size_t i = 0; i < bytes / size; i++) {
            tslab_free(objects[i]);
        }
        for (unsigned i = 0; i < MEMBERS; i++) {
            members[i] = tslab_epoch_open(&options);
            filled += fill_up(members[i], size);
        }
        CHECK_SAY(bytes >= LIMIT_BYTES / 2 && bytes <= LIMIT_BYTES + SLACK_BYTES, "round %u: %zu bytes", round, bytes);
        CHECK_SAY(filled >= LIMIT_BYTES / 2 && filled <= LIMIT_BYTES + SLACK_BYTES, "round %u: %zu bytes", round,
                  filled);
        for (unsigned i = 0; i < MEMBERS; i++) {
            STATUS(tslab_epoch_release(members[i], 0, NULL), TSLAB_OK);
        }
    }
    STATUS(tslab_instance_limit(instance, 0), TSLAB_OK);
    CHECK(tslab_epoch_malloc(tslab_instance_root(instance), 4 * LIMIT_BYTES) != NULL);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
}

/* Objects with handles count like others. */
CASE(handles_count_too)
{
    const tslab_instance instance = tslab_instance_open("limited");
    STATUS(tslab_instance_limit(instance, LIMIT_BYTES), TSLAB_OK);
    const tslab_epoch root = tslab_instance_root(instance);
    void *object;
    size_t n = 0;
    while (n < MOST && tslab_handle_malloc(root, 10000, &object).id != 0) {
        n++;
    }
    CHECK_SAY(n * 10000 >= LIMIT_BYTES / 2 && n * 10000 <= LIMIT_BYTES + SLACK_BYTES, "%zu objects", n);
    CHECK(tslab_epoch_malloc(root, 1 << 20) == NULL);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
}

/* A process that was refused something says so, once, and counts it. */

static void be_refused_by_an_epoch(void)
{
    (void)fill_up(limited(TSLAB_POLICY_RELEASE), 30000);
    CHECK(figure("epoch_limit_refusals") >= 1 && figure("label_limit_refusals") == 0);
}

static void be_refused_by_an_instance(void)
{
    const tslab_instance instance = tslab_instance_open("tenant");
    STATUS(tslab_instance_limit(instance, LIMIT_BYTES), TSLAB_OK);
    (void)fill_up(tslab_instance_root(instance), 30000);
    CHECK(figure("epoch_limit_refusals") >= 1 && figure("label_limit_refusals") == 0);
}

static void be_refused_by_a_label(void)
{
    STATUS(tslab_option_set("epoch_limits", "wide=4M"), TSLAB_OK);
    const struct tslab_epoch_options options = { .label = "wide" };
    (void)fill_up(tslab_epoch_open(&options), 30000);
    CHECK(figure("label_limit_refusals") >= 1 && figure("epoch_limit_refusals") == 0);
}

static void be_refused_by_the_process(void)
{
    STATUS(tslab_option_set("limit_bytes", "64M"), TSLAB_OK);
    void *const p = tslab_malloc(30000 << 10);
    CHECK(p != NULL && tslab_malloc(unseen(64 << 20)) == NULL);
    tslab_free(p);
    CHECK(figure("limit_refusals") >= 1);
}

static void be_refused_by_the_system(void)
{
    CHECK(tslab_malloc(unseen(SIZE_MAX / 4)) == NULL);
}

static void be_refused_twice(const void *what)
{
    void (*const *const refused)(void) = what;
    (*refused)();
    (*refused)();
}

CASE(the_limit_is_named)
{
    static void (*const kinds[])(void) = { be_refused_by_an_epoch, be_refused_by_an_instance, be_refused_by_a_label,
                                           be_refused_by_the_process, be_refused_by_the_system };
    static const char *const names[] = { "refused 30000 bytes: the limit of epoch 'limited' is 4194304, and it has 4",
                                         "refused 30000 bytes: the limit of instance 'tenant' is 4194304, and it has 4",
                                         "refused 30000 bytes: the limit of label 'wide' is 4194304, and it has 4",
                                         "refused 67108864 bytes: the limit of the process is 67108864, and it has ",
                                         NULL };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct child child = child_run(be_refused_twice, &kinds[i]);
        CHECK_SAY(child.status == 0 && child.said[0] == 0 && child.refusals == (names[i] != NULL), "%s", child.said);
        CHECK_SAY(names[i] == NULL
                      ? child.refused[0] == 0
                      : strncmp(child.refused, "tslab[", 6) == 0 && strstr(child.refused, names[i]) != NULL,
                  "it says %s", child.refused);
    }
}
