/* Options at run time: read and set as text, by any thread, beside threads that allocate. */
#include "epoch.h"
#include "figures.h"

static const char *option_value(const char *name)
{
    static _Thread_local char value[300];
    STATUS(tslab_option_get(name, value, sizeof value), TSLAB_OK);
    return value;
}

static void check_value(const char *name, const char *wanted)
{
    const char *const value = option_value(name);
    CHECK_SAY(strcmp(value, wanted) == 0, "%s is %s, not %s", name, value, wanted);
}

static void set_to(const char *name, const char *value, const char *wanted)
{
    STATUS(tslab_option_set(name, value), TSLAB_OK);
    check_value(name, wanted);
}

CASE(options_are_set_and_read)
{
    set_to("purge", "never", "never");
    set_to("PURGE", "adaptive", "adaptive");
    set_to("purge_delay_ms", "77", "77");
    set_to("retain_bytes", "3M", "3145728");
    set_to("retain_limit_bytes", "1G", "1073741824");
    set_to("cache_bytes", "8M", "8388608");
    set_to("epoch_policy", "batch-64", "batch-64");
    set_to("epoch_policy", "interval-20", "interval-20");
    set_to("epoch_policy", "never", "never");
    set_to("epoch_limits", "request=65536K:cache=99999", "request=64M:cache=96K");
    set_to("epoch_limits", "cache=1500M", "cache=1500M");
    set_to("epoch_limits", "", "");
    set_to("stats", "0", "0");
    check_value("arena_bytes", "17592186044416");
    check_value("profile", "0");
    check_value("stats_signal", "0");
    check_value("keeper", "1");
}

CASE(what_cannot_be_is_refused)
{
    char value[4];
    STATUS(tslab_option_set("retain_byte", "1"), TSLAB_INVALID);
    STATUS(tslab_option_set("", "1"), TSLAB_INVALID);
    STATUS(tslab_option_set(NULL, "1"), TSLAB_INVALID);
    STATUS(tslab_option_set("retain_bytes", NULL), TSLAB_INVALID);
    STATUS(tslab_option_set("retain_bytes", "2T"), TSLAB_INVALID);
    STATUS(tslab_option_set("retain_bytes", "much"), TSLAB_INVALID);
    STATUS(tslab_option_set("purge", "soon"), TSLAB_INVALID);
    STATUS(tslab_option_set("epoch_policy", "batch-0"), TSLAB_INVALID);
    STATUS(tslab_option_set("stats", "4"), TSLAB_INVALID);
    STATUS(tslab_option_set("stats", "0,/dev/null"), TSLAB_OK); /* a file may be named once */
    STATUS(tslab_option_set("stats", "0,/dev/null"), TSLAB_OK);
    STATUS(tslab_option_set("stats", "0"), TSLAB_OK);
    check_value("stats", "0,/dev/null");
    STATUS(tslab_option_set("stats", "0,/dev/nul"), TSLAB_INVALID);
    STATUS(tslab_option_set("stats", "4,/dev/null"), TSLAB_INVALID);
    static const char *const fixed[] = { "arena_bytes", "magazines", "keeper", "stats_signal" };
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        STATUS(tslab_option_set(fixed[i], "0"), TSLAB_FIXED);
    }
    check_value("retain_bytes", "524288");
    STATUS(tslab_option_get("nothing", value, sizeof value), TSLAB_INVALID);
    STATUS(tslab_option_get(NULL, value, sizeof value), TSLAB_INVALID);
    STATUS(tslab_option_get("stats", NULL, 4), TSLAB_INVALID);
    STATUS(tslab_option_get("purge_delay_ms", value, 3), TSLAB_INVALID);
    STATUS(tslab_option_get("purge_delay_ms", value, 4), TSLAB_OK);
    CHECK(strcmp(value, "500") == 0);
}

CASE(limits_are_those_of_the_program)
{
    struct tslab_limits limits = { .hard_bytes = 512 << 20 };
    STATUS(tslab_limits_set(&limits), TSLAB_OK);
    check_value("limit_bytes", "536870912");
    set_to("soft_limit_bytes", "64M", "67108864");
    set_to("limit_bytes", "96M", "100663296");
    (void)tslab_limits_get(&limits);
    CHECK(limits.hard_bytes == 96 << 20 && limits.soft_bytes == 64 << 20);
    CHECK(tslab_malloc(200 << 20) == NULL && errno == ENOMEM);
    set_to("limit_bytes", "0", "0");
    tslab_free(tslab_malloc(200 << 20));
}

/* From the next unit on, another policy decides. */
CASE(units_follow_the_policy)
{
    struct total_figures before, now;
    totals_get(&before);
    set_to("epoch_policy", "batch-1000", "batch-1000");
    STATUS(tslab_work_begin("unit"), TSLAB_OK);
    set_to("epoch_policy", "never", "never");
    tslab_free(tslab_malloc(100));
    STATUS(tslab_work_end(), TSLAB_OK);
    STATUS(tslab_work_begin("unit"), TSLAB_OK);
    set_to("epoch_policy", "per-request", "per-request");
    STATUS(tslab_work_end(), TSLAB_OK);
    totals_get(&now);
    CHECK(now.epochs_opened == before.epochs_opened + 1 && now.epochs_open == before.epochs_open);
    STATUS(tslab_work_begin("unit"), TSLAB_OK);
    STATUS(tslab_work_end(), TSLAB_OK);
    totals_get(&now);
    CHECK(now.epochs_opened == before.epochs_opened + 2 && now.epochs_open == before.epochs_open);
}

static atomic_bool done;

static void *work_meanwhile(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    static _Thread_local void *live[500];
    while (!atomic_load(&done)) {
        STATUS(tslab_work_begin("unit"), TSLAB_OK);
        for (size_t i = 0; i < COUNT_OF(live); i++) {
            tslab_free(live[i]);
            live[i] = tslab_malloc(16 + below(&random, i == 0 ? 400000 : 3000));
            CHECK(live[i] != NULL);
        }
        STATUS(tslab_work_end(), TSLAB_OK);
    }
    for (size_t i = 0; i < COUNT_OF(live); i++) {
        tslab_free(live[i]);
    }
    return NULL;
}

static void *set_meanwhile(void *argument)
{
    static const char *const settings[][2] = {
        { "purge", "eager" },
        { "purge", "never" },
        { "purge", "adaptive" },
        { "retain_bytes", "0" },
        { "retain_bytes", "1M" },
        { "purge_delay_ms", "0" },
        { "purge_delay_ms", "500" },
        { "cache_bytes", "64K" },
        { "cache_bytes", "0" },
        { "epoch_policy", "never" },
        { "soft_limit_bytes", "1M" },
        { "soft_limit_bytes", "0" },
        { "limit_bytes", "8G" },
        { "limit_bytes", "0" },
        { "epoch_policy", "per-request" },
        { "stats", "1" },
        { "stats", "0" },
        { "epoch_policy", "batch-7" },
        { "epoch_policy", "interval-1" },
        { "epoch_limits", "unit=4G" },
        { "epoch_limits", "unit=3G:other=1M" },
    };
    uint64_t random = (uintptr_t)argument;
    for (size_t i = 0; i < times(3000); i++) {
        const char *const *const setting = settings[below(&random, COUNT_OF(settings))];
        STATUS(tslab_option_set(setting[0], setting[1]), TSLAB_OK);
        CHECK(option_value(setting[0])[0] != 0);
    }
    return NULL;
}

CASE(options_change_beside_threads)
{
    enum { WORKERS = 2, SETTERS = 2 };
    pthread_t workers[WORKERS];
    threads_begin(workers, WORKERS, work_meanwhile, (void *)1, 1);
    in_threads(SETTERS, set_meanwhile, (void *)5, 1);
    atomic_store(&done, true);
    threads_end(workers, WORKERS);
    STATUS(tslab_option_set("stats", "0"), TSLAB_OK);
}
