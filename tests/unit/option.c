/* Options from the environment: each row is a process of its own. Ranges and defaults are those of the option table. */
#include "child.h"

#include "common/option.h"
#include "os/text.h"

#include <signal.h>
#include <unistd.h>

#define ROW(constant, name, kind, fallback, smallest, largest, values, when, doc)                                      \
    { #name, kind, fallback, smallest, largest, values, when },
static const struct {
    const char *name;
    enum option_kind kind;
    uint64_t fallback, smallest, largest;
    const char *values;
    enum option_when when;
} options[OPTION_COUNT] = { OPTION_TABLE(ROW) };

enum { VARIABLES = 3 };
static const uint64_t DEFAULT = UINT64_MAX;

struct row {
    const char *variables[VARIABLES]; /* NAME=value */
    enum option option;
    uint64_t wanted;     /* its value afterwards */
    const char *refused; /* what the message quotes as out of range for the option */
    const char *unknown; /* what the message quotes as no option at all */
};

static void load_row(const void *argument)
{
    const struct row *row = argument;
    char *variables[VARIABLES + 1] = { NULL };
    for (unsigned i = 0; i < VARIABLES && row->variables[i] != NULL; i++) {
        variables[i] = strdup(row->variables[i]);
    }
    option_load(variables);
    option_complain(variables);
    const uint64_t wanted = row->wanted == DEFAULT ? options[row->option].fallback : row->wanted;
    CHECK_SAY(option_get(row->option) == wanted, "%s: the value is %llu", row->variables[0],
              (unsigned long long)option_get(row->option));
}

static const char *scaled(uint64_t number, bool is_bytes)
{
    static char texts[2][32];
    static unsigned turn;
    char *const text = texts[turn++ % 2];
    unsigned scale = 0;
    while (is_bytes && number != 0 && number % 1024 == 0 && scale < 4) {
        number /= 1024;
        scale++;
    }
    snprintf(text, sizeof texts[0], "%llu%.*s", (unsigned long long)number, scale != 0, &" KMGT"[scale]);
    return text;
}

/* The exact line that a row is answered with. */
static void line_for(const struct row *row, char *line, size_t capacity)
{
    line[0] = 0;
    if (row->refused != NULL) {
        const char *const unit = options[row->option].values;
        const bool is_bytes = strcmp(unit, "bytes") == 0;
        snprintf(line, capacity, "tslab: %s: not a number like 64 or 64M in its range (%s to %s%s%s); ignored\n",
                 row->refused, scaled(options[row->option].smallest, is_bytes),
                 scaled(options[row->option].largest, is_bytes), unit[0] == 0 ? "" : " ", unit);
    } else if (row->unknown != NULL) {
        int length = snprintf(line, capacity, "tslab: %s: unknown option (known:", row->unknown);
        for (unsigned i = 0; i < OPTION_COUNT && options[i].when != FOR_TESTS; i++) {
            length += snprintf(line + length, capacity - (size_t)length, "%s %s", i == 0 ? "" : ",", options[i].name);
        }
        snprintf(line + length, capacity - (size_t)length, "); ignored\n");
    }
}

static void rows_hold(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char line[512];
        line_for(&rows[i], line, sizeof line);
        child_succeeds(load_row, &rows[i], line);
    }
}

TEST(values_are_read)
{
    static const struct row rows[] = {
        { { NULL }, OPTION_ARENA_BYTES, DEFAULT, NULL, NULL },
        { { NULL }, OPTION_MAGAZINES, DEFAULT, NULL, NULL },
        { { "TSLAB_RETAIN_BYTES=0" }, OPTION_RETAIN_BYTES, 0, NULL, NULL },
        { { "TSLAB_RETAIN_BYTES=12345" }, OPTION_RETAIN_BYTES, 12345, NULL, NULL },
        { { "TSLAB_RETAIN_BYTES=00012" }, OPTION_RETAIN_BYTES, 12, NULL, NULL },
        { { "TSLAB_RETAIN_BYTES=3K" }, OPTION_RETAIN_BYTES, 3 * KIB, NULL, NULL },
        { { "TSLAB_RETAIN_BYTES=3k" }, OPTION_RETAIN_BYTES, 3 * KIB, NULL, NULL },
        { { "TSLAB_RETAIN_BYTES=5M" }, OPTION_RETAIN_BYTES, 5 * MIB, NULL, NULL },
        { { "TSLAB_RETAIN_BYTES=7g" }, OPTION_RETAIN_BYTES, 7 * GIB, NULL, NULL },
        { { "TSLAB_ARENA_BYTES=16T" }, OPTION_ARENA_BYTES, 16 * TIB, NULL, NULL },
        { { "TSLAB_ARENA_BYTES=4194304" }, OPTION_ARENA_BYTES, 4 * MIB, NULL, NULL },
        { { "TSLAB_MAGAZINES=0" }, OPTION_MAGAZINES, 0, NULL, NULL },
        { { "TSLAB_PURGE=adaptive" }, OPTION_PURGE, PURGE_ADAPTIVE, NULL, NULL },
        { { "TSLAB_PURGE=eager" }, OPTION_PURGE, PURGE_EAGER, NULL, NULL },
        { { "TSLAB_PURGE=never" }, OPTION_PURGE, PURGE_NEVER, NULL, NULL },
        { { "TSLAB_HUGE_PAGES=adaptive" }, OPTION_HUGE_PAGES, HUGE_PAGES_ADAPTIVE, NULL, NULL },
        { { "TSLAB_HUGE_PAGES=always" }, OPTION_HUGE_PAGES, HUGE_PAGES_ALWAYS, NULL, NULL },
        { { "TSLAB_HUGE_PAGES=never" }, OPTION_HUGE_PAGES, HUGE_PAGES_NEVER, NULL, NULL },
        { { "TSLAB_EPOCH_POLICY=never" }, OPTION_EPOCH_POLICY, WORK_NEVER, NULL, NULL },
        { { "TSLAB_EPOCH_POLICY=per-request" }, OPTION_EPOCH_POLICY, WORK_PER_REQUEST, NULL, NULL },
        { { "TSLAB_EPOCH_POLICY=batch-1K" }, OPTION_EPOCH_POLICY, 1024 << CHOICE_SHIFT | WORK_BATCH, NULL, NULL },
        { { "TSLAB_EPOCH_POLICY=interval-20" }, OPTION_EPOCH_POLICY, 20 << CHOICE_SHIFT | WORK_INTERVAL, NULL, NULL },
        { { "TSLAB_EPOCH_POLICY=manual" }, OPTION_EPOCH_POLICY, WORK_MANUAL, NULL, NULL },
        { { "TSLAB_STATS_SIGNAL=USR2" }, OPTION_STATS_SIGNAL, SIGUSR2, NULL, NULL },
        { { "TSLAB_STATS_SIGNAL=SIGWINCH" }, OPTION_STATS_SIGNAL, SIGWINCH, NULL, NULL },
        { { "TSLAB_STATS_SIGNAL=10" }, OPTION_STATS_SIGNAL, SIGUSR1, NULL, NULL },
        { { "TSLAB_STATS_SIGNAL=64" }, OPTION_STATS_SIGNAL, 64, NULL, NULL },
        { { "TSLAB_STATS_SIGNAL=USR1", "TSLAB_STATS_SIGNAL=0" }, OPTION_STATS_SIGNAL, 0, NULL, NULL },
        { { "TSLAB_PURGE_DELAY_MS=3600000" }, OPTION_PURGE_DELAY_MS, 3600000, NULL, NULL },
        { { "TSLAB_STATS=0", "TSLAB_MAGAZINES=0", "TSLAB_RETAIN_BYTES=1" }, OPTION_MAGAZINES, 0, NULL, NULL },
        { { "tslab_magazines=0", "TSLABMAGAZINES=0", "X_TSLAB_MAGAZINES=0" }, OPTION_MAGAZINES, DEFAULT, NULL, NULL },
    };
    rows_hold(rows, sizeof rows / sizeof rows[0]);
}

TEST(lists_are_read)
{
    static const struct row rows[] = {
        { { "TSLAB_OPTIONS=" }, OPTION_MAGAZINES, DEFAULT, NULL, NULL },
        { { "TSLAB_OPTIONS=magazines=0" }, OPTION_MAGAZINES, 0, NULL, NULL },
        { { "TSLAB_OPTIONS=MAGAZINES=0" }, OPTION_MAGAZINES, 0, NULL, NULL },
        { { "TSLAB_OPTIONS=retain_bytes=2M,magazines=0" }, OPTION_MAGAZINES, 0, NULL, NULL },
        { { "TSLAB_OPTIONS=retain_bytes=2M,magazines=0" }, OPTION_RETAIN_BYTES, 2 * MIB, NULL, NULL },
        { { "TSLAB_OPTIONS=,,magazines=0," }, OPTION_MAGAZINES, 0, NULL, NULL },
        { { "TSLAB_OPTIONS=retain_bytes=3T,magazines=0" }, OPTION_RETAIN_BYTES, DEFAULT, "retain_bytes=3T", NULL },
        { { "TSLAB_OPTIONS=magazine=1,magazines=0" }, OPTION_MAGAZINES, 0, NULL, "magazine" },
        { { "TSLAB_OPTIONS=magazines" }, OPTION_MAGAZINES, DEFAULT, "magazines=", NULL },
        { { "TSLAB_OPTIONS=magazines=0,1" }, OPTION_MAGAZINES, DEFAULT, "magazines=0,1", NULL },
        { { "TSLAB_OPTIONS==0" }, OPTION_MAGAZINES, DEFAULT, NULL, "" },
    };
    rows_hold(rows, sizeof rows / sizeof rows[0]);
}

TEST(what_is_wrong_is_said_and_ignored)
{
#define REFUSED(constant, variable)                                                                                    \
    {                                                                                                                  \
        { variable }, OPTION_##constant, DEFAULT, variable, NULL                                                       \
    }
#define UNKNOWN(name)                                                                                                  \
    {                                                                                                                  \
        { name "=0" }, OPTION_MAGAZINES, DEFAULT, NULL, name                                                           \
    }
    static const struct row rows[] = {
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES=2"),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES="),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES=on"),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES=-1"),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES=+1"),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES= 0"),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES=0 "),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES=0x0"),
        REFUSED(MAGAZINES, "TSLAB_MAGAZINES=1K"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=K"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=1KB"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=1.5M"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=2T"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=1099511627777"),
        /* An overflow must not come out as something small. */
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=18446744073709551616"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=99999999999999999999999999999"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=18014398509481985K"),
        REFUSED(RETAIN_BYTES, "TSLAB_RETAIN_BYTES=16777216T"),
        REFUSED(ARENA_BYTES, "TSLAB_ARENA_BYTES=4194303"),
        REFUSED(ARENA_BYTES, "TSLAB_ARENA_BYTES=17592186044417"),
        REFUSED(PURGE_DELAY_MS, "TSLAB_PURGE_DELAY_MS=3600001"),
        UNKNOWN("TSLAB_MAGAZINE"),
        UNKNOWN("TSLAB_MAGAZINESS"),
        UNKNOWN("TSLAB_STAT"),
        UNKNOWN("TSLAB_NONSENSE"),
        UNKNOWN("TSLAB_"),
    };
    rows_hold(rows, sizeof rows / sizeof rows[0]);
}

static void load_one(const char *variable)
{
    option_load((char *[]){ strdup(variable), NULL });
}

/* The option's value as a text. */
static const char *told(enum option option)
{
    static char buffer[OPTION_TEXT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    option_tell(&text, option, option_get(option));
    buffer[text.length] = 0;
    return buffer;
}

static void load_paths(const void *argument)
{
    static char longest[400] = "TSLAB_STATS=2,", too_long[400] = "TSLAB_STATS=1,";
    memset(longest + strlen(longest), 'x', OPTION_PATH_MOST);
    memset(too_long + strlen(too_long), 'y', OPTION_PATH_MOST + 1);
    load_one("TSLAB_STATS=1,/a b/%p=1");
    CHECK(strcmp(option_path(OPTION_STATS), "/a b/%p=1") == 0 && option_get(OPTION_STATS) == STATS_SUMMARY);
    load_one(longest);
    CHECK(strcmp(option_path(OPTION_STATS), strchr(longest, ',') + 1) == 0 && option_get(OPTION_STATS) == STATS_JSON);
    load_one(too_long);
    CHECK(option_path(OPTION_STATS)[0] == 'x' && option_get(OPTION_STATS) == STATS_JSON);
    load_one("TSLAB_OPTIONS=stats=1,/tmp/q,keeper=2");
    CHECK(strcmp(option_path(OPTION_STATS), "/tmp/q") == 0 && option_get(OPTION_KEEPER) == 2);
    load_one("TSLAB_OPTIONS=stats=0,/tmp/a,b,6,keeper=1");
    CHECK(strcmp(option_path(OPTION_STATS), "/tmp/a,b,6") == 0 && option_choice(OPTION_STATS) == STATS_NONE);
    CHECK(strcmp(told(OPTION_STATS), "0,/tmp/a,b,6") == 0);
    load_one("TSLAB_STATS=2,5");
    CHECK(strcmp(option_path(OPTION_STATS), "5") == 0 && strcmp(told(OPTION_STATS), "2,5") == 0);
    load_one("TSLAB_PROFILE=512K,/tmp/%e");
    CHECK(option_get(OPTION_PROFILE) == 512 * KIB && strcmp(told(OPTION_PROFILE), "524288,/tmp/%e") == 0);
    option_complain((char *[]){ too_long, NULL });
}

TEST(paths_are_kept)
{
    const struct child child = child_run(load_paths, NULL);
    assert_true(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0);
    assert_non_null(strstr(child.said, ": not a number, and a file (FORM[,FILE], "));
}

IN_A_CHILD(wrong_parts_are_refused)
{
    static char *const wrong[] = {
        "TSLAB_STATS=",      "TSLAB_STATS=3",    "TSLAB_STATS=/a",      "TSLAB_STATS=,/a",
        "TSLAB_PROFILE=,/a", "TSLAB_PROFILE=/a", "TSLAB_PROFILE=2T,/a",
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        load_one(wrong[i]);
        CHECK_SAY(option_get(OPTION_STATS) == 0 && option_get(OPTION_PROFILE) == 0 &&
                      option_path(OPTION_STATS)[0] == 0 && option_path(OPTION_PROFILE)[0] == 0,
                  "%s is taken", wrong[i]);
    }
}

static void load_wrong_signals(const void *argument)
{
    static char *const wrong[] = { "TSLAB_STATS_SIGNAL=KILL", "TSLAB_STATS_SIGNAL=SEGV", "TSLAB_STATS_SIGNAL=9",
                                   "TSLAB_STATS_SIGNAL=11",   "TSLAB_STATS_SIGNAL=65",   "TSLAB_STATS_SIGNAL=USR",
                                   "TSLAB_STATS_SIGNAL=SIG",  "TSLAB_STATS_SIGNAL=33",   "TSLAB_STATS_SIGNAL=",
                                   "TSLAB_STATS_SIGNAL=TERM", "TSLAB_STATS_SIGNAL=15",   "TSLAB_STATS_SIGNAL=HUP" };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        option_load((char *[]){ wrong[i], NULL });
        CHECK_SAY(option_get(OPTION_STATS_SIGNAL) == 0, "%s is taken", wrong[i]);
    }
    option_complain((char *[]){ wrong[0], NULL });
}

TEST(only_some_signals_ask)
{
    child_succeeds(load_wrong_signals, NULL,
                   "tslab: TSLAB_STATS_SIGNAL=KILL: not a usable signal "
                   "(USR1 USR2 URG IO WINCH, or 34-64); ignored\n");
}

static void load_policy(const void *value)
{
    char variable[100];
    snprintf(variable, sizeof variable, "TSLAB_EPOCH_POLICY=%s", (const char *)value);
    load_one(variable);
    option_complain((char *[]){ variable, NULL });
    CHECK(option_get(OPTION_EPOCH_POLICY) == WORK_NEVER);
}

TEST(wrong_policies_are_said_and_mean_never)
{
    static const char *const wrong[] = { "",
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
                                         "never-1" };
    for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
        const struct child child = child_run(load_policy, wrong[i]);
        char start[100];
        snprintf(start, sizeof start, "tslab: TSLAB_EPOCH_POLICY=%s: ", wrong[i]);
        assert_int_equal(child.status, 0);
        assert_memory_equal(child.said, start, strlen(start));
        assert_non_null(strstr(child.said + strlen(start), "never"));
        assert_ptr_equal(strchr(child.said, '\n'), child.said + strlen(child.said) - 1);
    }
}

static void load_limits_by_label(const void *argument)
{
    static char *const lists[] = {
        "TSLAB_EPOCH_LIMITS=a=64M:b c=3G",
        "TSLAB_EPOCH_LIMITS=a=64M:b c",
        "TSLAB_OPTIONS=epoch_limits=a=64M:a b=12,stats=1",
        /* Together with those of before, these are too many. */
        "TSLAB_EPOCH_LIMITS=1=1M:2=1M:3=1M:4=1M:5=1M:6=1M:7=1M:8=1M:9=1M:10=1M:11=1M:12=1M:13=1M:14=1M:15=1M",
    };
    char buffer[OPTION_PATH_MOST];
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct text text = { .buffer = buffer, .capacity = sizeof buffer };
        option_load((char *[]){ lists[i], NULL });
        option_tell(&text, OPTION_EPOCH_LIMITS, option_get(OPTION_EPOCH_LIMITS));
        CHECK(text.length == 12 && memcmp(buffer, "a=64M:b c=3G", text.length) == 0);
        option_complain((char *[]){ lists[i], NULL });
    }
    CHECK(option_get(OPTION_STATS) == 1);
}

TEST(limits_by_label_are_read)
{
    const struct child child = child_run(load_limits_by_label, NULL);
    assert_true(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0);
    static const char *const starts[] = { "tslab: TSLAB_EPOCH_LIMITS=a=64M:b c: not a list of limits (",
                                          "tslab: epoch_limits=a=64M:a b=12: not a list of limits (",
                                          "tslab: TSLAB_EPOCH_LIMITS=1=1M:2=1M:3=1M:4=1M:5=1M:" };
    const char *line = child.said;
    for (unsigned i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        assert_memory_equal(line, starts[i], strlen(starts[i]));
        assert_non_null(strstr(line, "LABEL=BYTES:LABEL=BYTES"));
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(*line, 0);
}

static void load_something_long(const void *argument)
{
    static char variable[4096];
    memset(variable, '9', sizeof variable - 1);
    memcpy(variable, "TSLAB_STATS=", strlen("TSLAB_STATS="));
    char *variables[] = { variable, NULL };
    option_load(variables);
    option_complain(variables);
    CHECK(option_get(OPTION_STATS) == 0);
}

TEST(a_long_line_is_cut_and_still_a_line)
{
    const struct child child = child_run(load_something_long, NULL);
    assert_true(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0);
    static const char start[] = "tslab: TSLAB_STATS=9999";
    assert_memory_equal(child.said, start, sizeof start - 1);
    const size_t length = strlen(child.said);
    assert_true(length <= 512);
    assert_ptr_equal(strchr(child.said, '\n'), child.said + length - 1);
}

/* The complaint comes later, and changes nothing. */
IN_A_CHILD(loading_is_silent)
{
    char *wrong[] = { strdup("TSLAB_MAGAZINES=2"), strdup("TSLAB_STATS=1"), strdup("TSLAB_OPTIONS=x=1,stats=no"),
                      NULL };
    option_load(wrong);
    CHECK(option_get(OPTION_MAGAZINES) == 1 && option_get(OPTION_STATS) == 1);
    char *later[] = { strdup("TSLAB_STATS=2"), NULL };
    option_complain(later);
    CHECK(option_get(OPTION_STATS) == 1);
}
