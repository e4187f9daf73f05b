/* SCHEMA_VERSION grows when a field changes its meaning or goes away. */
#include "report/report.h"

#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/accounts.h"
#include "audit/census.h"
#include "common/figures.h"
#include "common/option.h"
#include "common/quota.h"
#include "common/size_class.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "os/os.h"
#include "os/text.h"
#include "report/epoch_list.h"
#include "report/statistics.h"
#include "thread/thread.h"

#include <string.h>

enum { SCHEMA_VERSION = 2 };

static const char process_names[] = PROCESS_FIGURES(FIGURE_NAME), total_names[] = TOTAL_FIGURES(FIGURE_NAME),
                  class_names[] = CLASS_FIGURES(FIGURE_NAME), counted_names[] = CLASS_COUNTED(FIGURE_NAME),
                  thread_names[] = THREAD_FIGURES(FIGURE_NAME), epoch_names[] = EPOCH_FIGURES(FIGURE_NAME),
                  label_names[] = LABEL_FIGURES(FIGURE_NAME), label_limit_names[] = LABEL_LIMIT_FIGURES(FIGURE_NAME);

struct epoch_figures {
    EPOCH_FIGURES(FIGURE_MEMBER)
};
#define EPOCH_FIGURE_IS_THERE(name, ...)                                                                               \
    _Static_assert(offsetof(struct tslab_epoch_stats, name) ==                                                         \
                       offsetof(struct tslab_epoch_stats, age_ms) + offsetof(struct epoch_figures, name),              \
                   "the list has the order of the struct");
EPOCH_FIGURES(EPOCH_FIGURE_IS_THERE)

struct json {
    int fd;
    bool first; /* the next member is the first one of its object or array */
    struct text text;
    char buffer[REPORT_BYTES];
};

static void json_separate(struct json *json)
{
    text_send_part(&json->text, json->fd);
    text_string(&json->text, json->first ? "" : ",");
    json->first = false;
}

static void json_key(struct json *json, const char *name)
{
    json_separate(json);
    text_string(&json->text, "\"");
    text_string(&json->text, name);
    text_string(&json->text, "\":");
}

/* Opens an object or array. With a name, it is a member. */
static void json_open(struct json *json, const char *name, const char *bracket)
{
    if (name != NULL) {
        json_key(json, name);
    } else {
        json_separate(json);
    }
    text_string(&json->text, bracket);
    json->first = true;
}

static void json_close(struct json *json, const char *bracket)
{
    text_string(&json->text, bracket);
    json->first = false;
}

static void json_number(struct json *json, const char *name, uint64_t value)
{
    json_key(json, name);
    text_number(&json->text, value);
}

/* The bytes of the character that starts at c. 0: it is not well-formed UTF-8. */
static size_t sign_bytes(const unsigned char *c)
{
    static const struct {
        unsigned char mask, lead, bytes;
        uint32_t least;
    } kinds[] = { { 0x80, 0x00, 1, 0 }, { 0xe0, 0xc0, 2, 0x80 }, { 0xf0, 0xe0, 3, 0x800 }, { 0xf8, 0xf0, 4, 0x10000 } };
    for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if ((*c & kinds[k].mask) != kinds[k].lead) {
            continue;
        }
        uint32_t sign = *c & (unsigned char)~kinds[k].mask;
        for (size_t i = 1; i < kinds[k].bytes; i++) {
            if ((c[i] & 0xc0) != 0x80) {
                return 0;
            }
            sign = sign << 6 | (c[i] & 0x3f);
        }
        const bool surrogate = sign >= 0xd800 && sign < 0xe000;
        return sign >= kinds[k].least && sign < 0x110000 && !surrogate ? kinds[k].bytes : 0;
    }
    return 0;
}

static void json_string(struct json *json, const char *name, const char *value)
{
    static const char digits[] = "0123456789abcdef";
    json_key(json, name);
    text_string(&json->text, "\"");
    for (const unsigned char *c = (const unsigned char *)value; *c != 0;) {
        const size_t bytes = sign_bytes(c);
        text_send_part(&json->text, json->fd);
        if (bytes == 0) {
            text_string(&json->text, "\\ufffd");
        } else if (*c < 0x20 || *c == 0x7f || *c == '"' || *c == '\\') {
            const char escape[6] = { '\\', 'u', '0', '0', digits[*c >> 4], digits[*c & 15] };
            text_part(&json->text, escape, sizeof escape);
        } else {
            text_part(&json->text, (const char *)c, bytes);
        }
        c += bytes == 0 ? 1 : bytes;
    }
    text_string(&json->text, "\"");
}

/* Writes an identity as a string, because not all readers of JSON have numbers of 64 bits. */
static void json_identity(struct json *json, const char *name, uint64_t value)
{
    char digits[24];
    struct text text = { .buffer = digits, .capacity = sizeof digits - 1 };
    text_hex(&text, value);
    digits[text.length] = 0;
    json_string(json, name, value == 0 ? "" : digits);
}

/* Figures of one kind: names as FIGURE_NAME has them, and the numbers in the same order. */
static void json_figures(struct json *json, const char *names, const void *figures)
{
    const uint64_t *number = figures;
    for (const char *name = names; *name != 0; name += strlen(name) + 1) {
        json_number(json, name, *number++);
    }
}

static noinline void json_totals(struct json *json)
{
    struct total_figures totals;
    stats_totals(&totals);
    json_open(json, "totals", "{");
    json_figures(json, total_names, &totals);
    json_close(json, "}");
}

/* The process, and the accounts that the terms of its RSS are sums of. */
static noinline void json_accounts(struct json *json, const struct accounts *accounts)
{
    struct process_figures process;
    stats_process(&process, accounts);
    json_figures(json, process_names, &process);
    json_open(json, "accounts", "{");
    json_number(json, "committed_bytes", accounts->committed_bytes);
    json_number(json, "untouched_bytes", accounts->untouched_bytes);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        json_open(json, account_names[i], "{");
        json_number(json, "bytes", account_of(accounts, i)->bytes);
        json_number(json, "untouched_bytes", account_of(accounts, i)->untouched_bytes);
        json_close(json, "}");
    }
    json_close(json, "}");
}

/* All that a report tells, or what is asked for again and again. */
enum scope { SCOPE_ALL, SCOPE_FIGURES };

static noinline void json_class_entry(struct json *json, unsigned class, enum scope scope)
{
    struct class_figures figures;
    (scope == SCOPE_ALL ? stats_class_get : stats_class_counted)(class, &figures);
    if (figures.slabs_new != 0) {
        json_open(json, NULL, "{");
        json_figures(json, scope == SCOPE_ALL ? class_names : counted_names, &figures);
        json_close(json, "}");
    }
}

/* Threads that end meanwhile may be told or not. */
static noinline void json_threads(struct json *json)
{
    json_open(json, "threads", "[");
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        struct thread_figures figures;
        char name[OS_NAME_BYTES];
        stats_thread(thread, &figures);
        if (figures.thread == 0) {
            continue;
        }
        json_open(json, NULL, "{");
        json_string(json, "name", os_thread_name((uint32_t)figures.thread, name));
        json_figures(json, thread_names, &figures);
        json_close(json, "}");
    }
    json_close(json, "]");
}

static void json_epoch_entry(struct json *json, const struct tslab_epoch_stats *stats)
{
    static const char *const states[] = { "open", "closing", "draining" };
    static const char *const policies[] = { "drain", "release", "report", "trap" };
    invariant(stats->policy >= TSLAB_POLICY_DRAIN && stats->policy <= TSLAB_POLICY_TRAP);
    json_open(json, NULL, "{");
    json_identity(json, "epoch", stats->epoch.id);
    json_identity(json, "parent", stats->parent.id);
    json_identity(json, "instance", stats->instance.id);
    json_string(json, "label", stats->label);
    json_string(json, "policy", policies[stats->policy - TSLAB_POLICY_DRAIN]);
    json_string(json, "state", states[stats->state]);
    json_number(json, "inside", stats->inside);
    json_figures(json, epoch_names, &stats->age_ms);
    json_close(json, "}");
}

static noinline void json_epochs(struct json *json)
{
    struct tslab_epoch_stats entry;
    json_open(json, "epochs", "[");
    for (uint32_t from = 0; epochs_describe(&from, &entry);) {
        json_epoch_entry(json, &entry);
    }
    json_close(json, "]");
}

static noinline void json_labels(struct json *json)
{
    struct label_group group;
    uint64_t collection = 0;
    json_open(json, "labels", "[");
    for (uint32_t rank = 0; epochs_label(rank, &collection, &group); rank++) {
        json_open(json, NULL, "{");
        json_string(json, "label", group.label);
        json_figures(json, label_names, &group.labels);
        json_close(json, "}");
    }
    json_close(json, "]");
}

static noinline void json_label_limits(struct json *json)
{
    struct label_limit limit;
    json_open(json, "label_limits", "[");
    for (uint32_t i = 0; label_limit_get(i, &limit); i++) {
        json_open(json, NULL, "{");
        json_string(json, "label", limit.label);
        json_figures(json, label_limit_names, &limit.limit_bytes);
        json_close(json, "}");
    }
    json_close(json, "]");
}

/* The options by name, with their values as tslab_option_get tells them. */
static noinline void json_options(struct json *json)
{
#define OPTION_STRING(constant, name, ...) #name,
    static const char *const names[] = { OPTION_TABLE(OPTION_STRING) };
    json_open(json, "options", "{");
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        char value[OPTION_TEXT_BYTES];
        const bool told = tslab_option_get(names[i], value, sizeof value) == TSLAB_OK;
        invariant(told);
        json_string(json, names[i], told ? value : "");
    }
    json_close(json, "}");
}

static noinline void json_limit(struct json *json, const struct report_limit *limit)
{
    json_open(json, "near", "{");
    json_string(json, "of", limit->of);
    json_string(json, "label", limit->label);
    json_number(json, "limit_bytes", limit->limit_bytes);
    json_number(json, "used_bytes", limit->used_bytes);
    json_close(json, "}");
}

static noinline bool json_report(int fd, const struct accounts *accounts, enum scope scope,
                                 const struct report_limit *limit)
{
    struct json json = { .fd = fd, .first = true };
    json.text = (struct text){ .buffer = json.buffer, .capacity = sizeof json.buffer };
    json_open(&json, NULL, "{");
    json_string(&json, "schema", "tslab-statistics");
    json_number(&json, "version", SCHEMA_VERSION);
    json_string(&json, "library", tslab_version());
    json_string(&json, "program", os_program_name());
    json_number(&json, "pid", os_process_id());
    if (limit != NULL) {
        json_limit(&json, limit);
    }
    json_accounts(&json, accounts);
    json_totals(&json);
    json_options(&json);
    json_open(&json, "classes", "[");
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        json_class_entry(&json, class, scope);
    }
    json_close(&json, "]");
    if (scope == SCOPE_ALL) {
        json_threads(&json);
        json_epochs(&json);
    }
    json_labels(&json);
    json_label_limits(&json);
    json_close(&json, "}");
    text_string(&json.text, "\n");
    text_send(&json.text, fd);
    return !json.text.lost;
}

/* The walk for the accounts is not below the buffer of the report on the stack. */
static bool write_scope(int fd, enum scope scope)
{
    struct accounts accounts;
    invariant(fd >= 0 || scope == SCOPE_ALL);
    (void)accounts_take(&accounts, helper_thread_may_ask() ? RESIDENT_BY_CALL : RESIDENT_BY_FILE);
    return json_report(fd, &accounts, scope, NULL);
}

bool report_figures(int fd)
{
    return write_scope(fd, SCOPE_FIGURES);
}

/* Half of the time is for the accounts, the rest for the epochs of the labels. */
void report_near(int fd, const struct report_limit *limit)
{
    enum { WALK_MS = 4 };
    struct accounts accounts;
    invariant(fd >= 0 && limit->limit_bytes != 0);
    census_end_in(WALK_MS);
    (void)accounts_take(&accounts, RESIDENT_UNTOLD);
    census_end_in(WALK_MS);
    (void)json_report(fd, &accounts, SCOPE_FIGURES, limit);
    census_end_in(CENSUS_NO_END);
}

TSLAB_API enum tslab_status tslab_stats_json(int fd)
{
    return write_scope(fd, SCOPE_ALL) ? TSLAB_OK : TSLAB_INVALID;
}
