/* Limits of epochs, of their own, of their instance and of their label (option epoch_limits): what exceeds one is
 * refused, in the epochs that it binds alone, and what is freed is there again. A limit by label may change while they
 * are open. */
#include "epoch.h"
#include "figures.h"

#include <inttypes.h>
#include <sys/wait.h>

enum { LIMIT_BYTES = 4 * MEGABYTE, SLACK_BYTES = 64 * KILOBYTE, EPOCHS = 6, MOST = 30000 };
enum { OF_EPOCH, OF_INSTANCE, OF_LABEL, KINDS };

static void *objects[MOST];

static void set_limits(const char *list)
{
    STATUS(tslab_option_set("epoch_limits", list), TSLAB_OK);
}

static void check_limits(const char *wanted)
{
    char value[300];
    STATUS(tslab_option_get("epoch_limits", value, sizeof value), TSLAB_OK);
    CHECK_SAY(strcmp(value, wanted) == 0, "epoch_limits is %s, not %s", value, wanted);
}

struct limit {
    uint64_t limit_bytes, used_bytes, peak_used_bytes, refusals;
};

/* The figures of a label in the statistics. */
static struct limit limit_of(const char *label)
{
    static const char *const names[] = { "limit_bytes", "used_bytes", "peak_used_bytes", "refusals" };
    struct limit limit;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char name[64];
        snprintf(name, sizeof name, "label.%s.%s", label, names[i]);
        STATUS(tslab_stat_get(name, &(&limit.limit_bytes)[i]), TSLAB_OK);
    }
    return limit;
}

static tslab_epoch labelled(const char *label, tslab_instance instance)
{
    const struct tslab_epoch_options options = { .label = label, .policy = TSLAB_POLICY_RELEASE, .instance = instance };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    CHECK(epoch.id != 0);
    return epoch;
}

/* Allocates until it is refused, or `most` bytes. Returns how many bytes were granted. */
static size_t fill_some(tslab_epoch epoch, size_t size, size_t most)
{
    size_t n = 0;
    errno = 0;
    while (n * size < most && n < MOST && (objects[n] = tslab_epoch_malloc(epoch, size)) != NULL) {
        memset(objects[n], 1, size);
        n++;
    }
    CHECK_SAY(n * size >= most || errno == ENOMEM, "%zu objects of %zu bytes, errno %d", n, size, errno);
    return n * size;
}

static size_t fill_up(tslab_epoch epoch, size_t size)
{
    const size_t bytes = fill_some(epoch, size, SIZE_MAX);
    CHECK(tslab_epoch_malloc(epoch, MEGABYTE) == NULL && errno == ENOMEM);
    return bytes;
}

static void check_filled(size_t bytes, size_t limit_bytes)
{
    CHECK_SAY(bytes >= limit_bytes / 2 && bytes <= limit_bytes + SLACK_BYTES, "%zu of %zu bytes", bytes, limit_bytes);
}

static uint64_t figure_of(const char *name)
{
    uint64_t value = 0;
    STATUS(tslab_stat_get(name, &value), TSLAB_OK);
    return value;
}

static const size_t sizes[] = { 300, 3000, 30000, 100000, MEGABYTE };

static void free_all(size_t bytes, size_t size)
{
    for (size_t i = 0; i < bytes / size; i++) {
        tslab_free(objects[i]);
    }
}

static tslab_instance limited_instance(unsigned kind)
{
    const tslab_instance instance = tslab_instance_open("limited");
    STATUS(tslab_instance_limit(instance, kind == OF_INSTANCE ? LIMIT_BYTES : 0), TSLAB_OK);
    set_limits("limited=4M:unused=1G");
    return instance;
}

/* An epoch that a limit of the kind binds, and no other. */
static tslab_epoch limited(unsigned kind, tslab_instance instance, enum tslab_policy policy)
{
    const struct tslab_epoch_options options = {
        .label = kind == OF_LABEL ? "limited" : "free",
        .policy = policy,
        .instance = instance,
        .limit_bytes = kind == OF_EPOCH ? LIMIT_BYTES : 0,
    };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    CHECK(epoch.id != 0);
    return epoch;
}

/* Those of a label share it whichever instance they are in. */
static void exceed(unsigned kind, size_t size)
{
    const tslab_instance instance = limited_instance(kind), one = tslab_instance_open("one");
    const tslab_instance homes[] = { instance, kind == OF_LABEL ? one : instance,
                                     kind == OF_LABEL ? (tslab_instance){ 0 } : instance };
    const tslab_epoch other = labelled("other", one);
    tslab_epoch epochs[EPOCHS];
    size_t bytes = 0;
    for (size_t i = 0; i < EPOCHS; i++) {
        const enum tslab_policy policy = i % 2 == 0 ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN;
        epochs[i] = limited(kind, homes[i % COUNT_OF(homes)], policy);
        const size_t filled = fill_up(epochs[i], size);
        if (kind == OF_EPOCH) {
            check_filled(filled, LIMIT_BYTES);
            CHECK(stats_of(epochs[i]).memory_bytes <= LIMIT_BYTES + SLACK_BYTES);
        }
        bytes += filled;
    }
    const struct limit limit = limit_of("limited");
    if (kind != OF_EPOCH) {
        check_filled(bytes, LIMIT_BYTES);
    }
    if (kind == OF_LABEL) {
        CHECK(limit.limit_bytes == LIMIT_BYTES && limit.used_bytes <= LIMIT_BYTES && limit.refusals >= EPOCHS);
    } else {
        CHECK(limit.used_bytes == 0);
    }
    CHECK(fill_some(other, size, (size_t)2 * LIMIT_BYTES) >= (size_t)2 * LIMIT_BYTES);
    CHECK(fill_some(tslab_instance_root(one), size, (size_t)2 * LIMIT_BYTES) >= (size_t)2 * LIMIT_BYTES);
    free(keep(malloc((size_t)2 * LIMIT_BYTES)));
    for (size_t i = 0; i < EPOCHS; i++) {
        STATUS(tslab_epoch_release(epochs[i], 0, NULL), TSLAB_OK);
    }
    CHECK(limit_of("limited").used_bytes == 0 && limit_of("limited").peak_used_bytes >= limit.used_bytes);
    /* The same records serve the next epochs, which have no limit. */
    STATUS(tslab_instance_limit(instance, 0), TSLAB_OK);
    CHECK(tslab_epoch_malloc(labelled("free", instance), 2 * LIMIT_BYTES) != NULL);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    STATUS(tslab_instance_close(one, 0, NULL), TSLAB_OK);
    STATUS(tslab_instance_limit(one, 1), TSLAB_STALE);
    STATUS(tslab_instance_limit((tslab_instance){ 0 }, 1), TSLAB_STALE);
}

CASE(what_exceeds_is_refused)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            exceed(kind, sizes[s]);
        }
    }
    CHECK(limit_of("limited").peak_used_bytes <= LIMIT_BYTES);
    CHECK(limit_of("unused").used_bytes == 0 && limit_of("unused").refusals == 0 &&
          limit_of("unused").peak_used_bytes == 0);
}

CASE(what_is_freed_is_there_again)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        const tslab_instance instance = limited_instance(kind);
        tslab_epoch epoch = limited(kind, instance, TSLAB_POLICY_DRAIN);
        for (unsigned round = 0; round < 10; round++) {
            const size_t size = sizes[round % COUNT_OF(sizes)];
            const size_t bytes = fill_up(epoch, size);
            check_filled(bytes, LIMIT_BYTES);
            if (kind != OF_EPOCH) {
                STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
                epoch = limited(kind, instance, TSLAB_POLICY_DRAIN); /* the survivors of the last one still count */
                CHECK(tslab_epoch_malloc(epoch, MEGABYTE) == NULL);
            }
            free_all(bytes, size);
        }
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        CHECK(limit_of("limited").used_bytes == 0);
        STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    }
}

/* Plain malloc and realloc inside of a scope, an epoch that advances, and handles. */
static void allocate_in_all_ways(tslab_epoch epoch)
{
    for (unsigned round = 0; round < 3; round++) {
        tslab_epoch_enter(epoch);
        void *large = keep(tslab_malloc(3 * MEGABYTE));
        errno = 0;
        CHECK(tslab_malloc(2 * MEGABYTE) == NULL && errno == ENOMEM && tslab_calloc(2, MEGABYTE) == NULL);
        errno = 0;
        CHECK(tslab_realloc(large, 8 * MEGABYTE) == NULL && errno == ENOMEM);
        size_t n = 0;
        tslab_handle handles[200];
        while (n < COUNT_OF(handles) && (handles[n] = tslab_handle_malloc(epoch, 10000, NULL)).id != 0) {
            n++;
        }
        CHECK_SAY(n > 10 && n < 120, "%zu handles", n);
        for (size_t i = 0; i < n; i++) {
            STATUS(tslab_handle_free(epoch, handles[i]), TSLAB_OK);
        }
        CHECK((large = tslab_realloc(large, MEGABYTE)) != NULL);
        tslab_free(keep(tslab_malloc(2 * MEGABYTE)));
        CHECK((large = tslab_realloc(large, 3 * MEGABYTE)) != NULL && tslab_malloc(2 * MEGABYTE) == NULL);
        tslab_free(large);
        STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_OK);
        STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

CASE(all_ways_to_allocate_are_under_it)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        const tslab_instance instance = limited_instance(kind);
        allocate_in_all_ways(limited(kind, instance, TSLAB_POLICY_DRAIN));
        STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    }
    CHECK(limit_of("limited").used_bytes == 0);
    /* A unit of work. */
    STATUS(tslab_option_set("epoch_policy", "per-request"), TSLAB_OK);
    STATUS(tslab_work_begin("limited"), TSLAB_OK);
    CHECK(tslab_malloc(5 * MEGABYTE) == NULL && errno == ENOMEM);
    STATUS(tslab_work_end(), TSLAB_OK);
}

/* An epoch may be under both limits, and under one of its own: the narrowest decides. */
CASE(it_stands_beside_other_limits)
{
    const tslab_instance instance = tslab_instance_open("instance");
    set_limits("narrow=2M:wide=64M");
    STATUS(tslab_instance_limit(instance, LIMIT_BYTES), TSLAB_OK);
    const tslab_epoch narrow = labelled("narrow", instance), wide = labelled("wide", instance);
    const size_t first = fill_up(narrow, 30000);
    check_filled(first, LIMIT_BYTES / 2);
    check_filled(first + fill_up(wide, 30000), LIMIT_BYTES);
    CHECK(limit_of("wide").refusals == 0 && limit_of("narrow").refusals != 0);
    STATUS(tslab_epoch_release(wide, 0, NULL), TSLAB_OK);
    CHECK(tslab_epoch_malloc(narrow, MEGABYTE) == NULL);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    CHECK(limit_of("wide").used_bytes == 0 && limit_of("narrow").used_bytes == 0);
}

/* Of each epoch alone, in its present life, and added up by label. */
CASE(the_peak_stays_when_memory_goes)
{
    struct tslab_epoch_stats stats;
    for (size_t life = 0; life < 3; life++) {
        const tslab_epoch epoch = labelled("peak", (tslab_instance){ 0 }),
                          other = labelled("peak", (tslab_instance){ 0 });
        CHECK(figure_of("label.peak.peak_bytes") <= 2 * SLACK_BYTES); /* each may begin with a chunk */
        const size_t bytes = fill_some(epoch, 3000, (size_t)(9 - 4 * life) * MEGABYTE);
        STATUS(tslab_epoch_stats_get(epoch, &stats), TSLAB_OK);
        const uint64_t most = stats.peak_bytes;
        CHECK(most >= bytes && most <= bytes + bytes / 4 + MEGABYTE && stats.resident_bytes <= stats.memory_bytes);
        free_all(bytes, 3000);
        (void)tslab_trim();
        STATUS(tslab_epoch_stats_get(epoch, &stats), TSLAB_OK);
        CHECK(stats.peak_bytes <= most && most - stats.peak_bytes <= SLACK_BYTES); /* the chunk that it was filling */
        CHECK(stats.memory_bytes <= MEGABYTE && stats.resident_bytes <= MEGABYTE);
        CHECK(fill_some(other, MEGABYTE, 2 * MEGABYTE) == 2 * MEGABYTE);
        CHECK(figure_of("label.peak.peak_bytes") >= stats.peak_bytes + 2 * MEGABYTE);
        const uint64_t resident = figure_of("label.peak.resident_bytes");
        CHECK(resident >= 2 * MEGABYTE && resident <= figure_of("label.peak.memory_bytes"));
        STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        STATUS(tslab_epoch_release(other, 0, NULL), TSLAB_OK);
    }
}

CASE(it_changes_while_epochs_are_open)
{
    set_limits("a=8M");
    const tslab_epoch a = labelled("a", (tslab_instance){ 0 }), early = labelled("b", (tslab_instance){ 0 });
    CHECK(fill_some(a, 100000, 6 * MEGABYTE) >= 6 * MEGABYTE);
    set_limits("b=1M:a=2M"); /* stops growth, and takes nothing away */
    check_limits("a=2M:b=1M");
    CHECK(tslab_epoch_malloc(a, 100000) == NULL && ((const char *)objects[0])[99999] == 1);
    const tslab_epoch late = labelled("b", (tslab_instance){ 0 });
    CHECK(tslab_epoch_malloc(late, 2 * MEGABYTE) == NULL);
    CHECK(tslab_epoch_malloc(early, 2 * MEGABYTE) != NULL); /* b had no place when it was opened */
    set_limits("b=4M");
    CHECK(tslab_epoch_malloc(late, 2 * MEGABYTE) != NULL && tslab_epoch_malloc(a, 20 * MEGABYTE) != NULL);
    CHECK(limit_of("a").limit_bytes == 0 && limit_of("a").used_bytes > 20 * MEGABYTE);
    set_limits("a=8M:b=4M"); /* it was counted meanwhile */
    CHECK(tslab_epoch_malloc(a, 100000) == NULL);
    STATUS(tslab_epoch_release(a, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_release(early, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_release(late, 0, NULL), TSLAB_OK);
    CHECK(limit_of("a").used_bytes == 0 && limit_of("b").used_bytes == 0);
    set_limits("");
    check_limits("");
}

CASE(what_is_no_list_is_refused)
{
    static const char *const wrong[] = { "a",       "a=",      "=1M",   "a=1M:b",     "a=1",     "a=1X",
                                         "a=16383", "a=1025T", ":a=1M", "a=1M::b=1M", "a=b=16K", "a=1M,b=2M" };
    char list[400] = "";
    set_limits("kept=1M");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        STATUS(tslab_option_set("epoch_limits", wrong[i]), TSLAB_INVALID);
    }
    /* A label as long as epochs keep it, one that is longer, and a list that is too long. */
    STATUS(tslab_option_set("epoch_limits", "12345678901234567890123456789012=1M"), TSLAB_INVALID);
    memset(list, '0', 300);
    memcpy(list, "kept=", 5);
    STATUS(tslab_option_set("epoch_limits", list), TSLAB_INVALID);
    check_limits("kept=1M");
    set_limits("kept=64K:1234567890123456789012345678901=1M");
    const tslab_epoch epoch = labelled("12345678901234567890123456789012345", (tslab_instance){ 0 });
    CHECK(tslab_epoch_malloc(epoch, 2 * MEGABYTE) == NULL);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
    /* 16 labels have a place, as long as the process lives. */
    for (unsigned i = 0; i < 14; i++) {
        snprintf(list, sizeof list, "label %u=1M", i);
        set_limits(list);
    }
    STATUS(tslab_option_set("epoch_limits", "one more=1M"), TSLAB_INVALID);
    check_limits("label 13=1M");
    set_limits("label 0=16K:label 0=20M:label 9=1T");
    check_limits("label 0=20M:label 9=1T");
}

/* The child of a fork goes on with the limits and the counts, and counts for itself. */
CASE(a_fork_has_its_own_count)
{
    set_limits("forked=4M");
    const tslab_epoch epoch = labelled("forked", (tslab_instance){ 0 });
    const size_t before = fill_some(epoch, 30000, LIMIT_BYTES / 2);
    const uint64_t used = limit_of("forked").used_bytes;
    const pid_t child = fork();
    if (child == 0) {
        CHECK(limit_of("forked").used_bytes == used);
        check_filled(before + fill_up(epoch, 30000), LIMIT_BYTES);
        set_limits("forked=8M");
        check_filled(before + fill_up(epoch, 30000), (size_t)2 * LIMIT_BYTES - before);
        STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        CHECK(limit_of("forked").used_bytes == 0);
        _exit(0);
    }
    child_ends_well(child);
    CHECK(limit_of("forked").used_bytes == used && limit_of("forked").limit_bytes == LIMIT_BYTES);
    check_filled(before + fill_up(epoch, 30000), LIMIT_BYTES);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
}

CASE_WITH("TSLAB_EPOCH_LIMITS=of the environment=4M", the_environment_has_it)
{
    check_limits("of the environment=4M");
    const tslab_epoch epoch = labelled("of the environment", (tslab_instance){ 0 });
    check_filled(fill_up(epoch, 30000), LIMIT_BYTES);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
}

static void *come_and_go(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    for (size_t i = 0; i < times(400); i++) {
        const tslab_epoch epoch = labelled("busy", (tslab_instance){ 0 });
        for (unsigned k = 0; k < 40; k++) {
            const size_t size = 1 + below(&random, k % 8 == 0 ? 400000 : 20000);
            char *const p = tslab_epoch_malloc(epoch, size);
            CHECK(p != NULL || errno == ENOMEM);
            if (p != NULL && k % 4 == 0) {
                tslab_free(p);
            }
        }
        if (i % 16 == 0) {
            set_limits(i % 32 == 0 ? "busy=1M" : "busy=512K:more=1M");
        }
        STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
    }
    return NULL;
}

/* However epochs come and go on several threads, while limits change, nothing stays counted. */
CASE(nothing_stays_counted)
{
    enum { THREADS = 3 };
    set_limits("busy=1M");
    in_threads(THREADS, come_and_go, (void *)1, 1);
    const struct limit limit = limit_of("busy");
    CHECK_SAY(limit.used_bytes == 0 && limit.refusals != 0, "%" PRIu64 " bytes, %" PRIu64 " refusals", limit.used_bytes,
              limit.refusals);
}

/* A process that was refused something says so, once, and counts it. */

static void be_refused_by_an_epoch(void)
{
    const struct tslab_epoch_options options = { .label = "limited", .limit_bytes = LIMIT_BYTES };
    (void)fill_up(tslab_epoch_open(&options), 30000);
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
    set_limits("wide=4M");
    (void)fill_up(labelled("wide", (tslab_instance){ 0 }), 30000);
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
