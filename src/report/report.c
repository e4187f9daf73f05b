/* Statistics as JSON. docs/statistics.md describes the fields. SCHEMA_VERSION
 * grows when a field changes its meaning or goes away. */
#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/accounts.h"
#include "common/option.h"
#include "common/quota.h"
#include "common/size_class.h"
#include "malloc/current_thread.h"
#include "malloc/engine.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"
#include "report/epoch_list.h"
#include "report/statistics.h"
#include "thread/thread.h"

#include <string.h>

enum { SCHEMA_VERSION = 1, EPOCHS_AT_ONCE = 4 };

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
    text_number(&json->text, value, 0);
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

static noinline void json_totals(struct json *json)
{
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    json_open(json, "totals", "{");
    json_number(json, "live_objects", stats.live_objects);
    json_number(json, "live_bytes", stats.live_bytes);
    json_number(json, "large_bytes", stats.large_bytes);
    json_number(json, "cached_bytes", stats.cached_bytes);
    json_number(json, "slab_bytes", stats.slab_bytes);
    json_number(json, "chunk_bytes", stats.chunk_bytes);
    json_number(json, "dirty_bytes", stats.dirty_bytes);
    json_number(json, "clean_bytes", stats.clean_bytes);
    json_number(json, "committed_bytes", stats.committed_bytes);
    json_number(json, "reserved_bytes", stats.reserved_bytes);
    json_number(json, "metadata_bytes", stats.metadata_bytes);
    json_number(json, "allocations", stats.allocations);
    json_number(json, "frees", stats.frees);
    json_number(json, "refills", stats.refills);
    json_number(json, "flushes", stats.flushes);
    json_number(json, "remote_frees", stats.remote_frees);
    json_number(json, "slabs_opened", stats.slabs_opened);
    json_number(json, "slabs_recycled", stats.slabs_recycled);
    json_number(json, "harvests", stats.harvests);
    json_number(json, "harvested", stats.harvested);
    json_number(json, "queue_longest", stats.queue_longest);
    json_number(json, "queue_length", stats.queue_length);
    json_number(json, "purge_calls", stats.purge_calls);
    json_number(json, "purged_bytes", stats.purged_bytes);
    json_number(json, "purge_refusals", stats.purge_refusals);
    json_number(json, "threads", stats.threads);
    json_number(json, "thread_records", stats.thread_records);
    json_number(json, "epochs_open", stats.epochs_open);
    json_number(json, "epochs_draining", stats.epochs_draining);
    json_number(json, "epochs_opened", stats.epochs_opened);
    json_number(json, "epochs_closed", stats.epochs_closed);
    json_number(json, "epochs_drained", stats.epochs_drained);
    json_number(json, "epoch_bytes", stats.epoch_bytes);
    json_number(json, "work_units", stats.work_units);
    json_number(json, "purge_mistakes", stats.purge_mistakes);
    json_number(json, "offered_bytes", stats.offered_bytes);
    json_number(json, "limit_refusals", stats.limit_refusals);
    json_number(json, "keeper_looks", stats.keeper_looks);
    json_close(json, "}");
}

static void json_slabs(struct json *json, const struct tslab_class_stats *stats)
{
    json_number(json, "slabs_full", stats->slabs_full);
    json_number(json, "slabs_partial", stats->slabs_partial);
    json_number(json, "slabs_empty", stats->slabs_empty);
    json_number(json, "slabs_held", stats->slabs_held);
    json_number(json, "slab_bytes", stats->slab_bytes);
    json_number(json, "free_bytes", stats->free_slots * stats->size);
    json_number(json, "tail_bytes", stats->tail_bytes);
    json_number(json, "untouched_bytes", stats->untouched_bytes);
    json_number(json, "magazine_bytes", stats->magazine_slots * stats->size);
    json_number(json, "stock_bytes", stats->stock_slots * stats->size);
    json_number(json, "outbox_bytes", stats->outbox_slots * stats->size);
    json_number(json, "exchange_bytes", stats->exchange_slots * stats->size);
    json_number(json, "claimed_bytes", stats->claimed_slots * stats->size);
    json_number(json, "retired_bytes", stats->retired_slots * stats->size);
    json_number(json, "pages", stats->pages);
    json_number(json, "pages_free", stats->pages_free);
    json_number(json, "pages_kept_1", stats->pages_kept_1);
    json_number(json, "pages_kept_2", stats->pages_kept_2);
    json_number(json, "pages_kept_4", stats->pages_kept_4);
}

static noinline void json_accounts(struct json *json)
{
    struct tslab_accounts accounts;
    accounts_take_resident(&accounts);
    json_open(json, "accounts", "{");
    json_number(json, "committed_bytes", accounts.committed_bytes);
    json_number(json, "untouched_bytes", accounts.untouched_bytes);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        json_open(json, account_names[i], "{");
        json_number(json, "bytes", account_of(&accounts, i)->bytes);
        json_number(json, "untouched_bytes", account_of(&accounts, i)->untouched_bytes);
        json_close(json, "}");
    }
    json_close(json, "}");
}

static noinline void json_class_entry(struct json *json, unsigned class)
{
    struct tslab_class_stats stats;
    stats_class_get(class, &stats);
    if (stats.slabs_opened == 0) {
        return;
    }
    json_open(json, NULL, "{");
    json_number(json, "size", stats.size);
    json_number(json, "allocations", stats.allocations);
    json_number(json, "live", stats.live_objects);
    json_number(json, "slabs_new", stats.slabs_opened);
    json_number(json, "slabs_recycled", stats.slabs_recycled);
    json_number(json, "slabs_net", stats.slabs);
    json_number(json, "slow_paths", stats.refills + stats.flushes + stats.stocked);
    json_number(json, "refills", stats.refills);
    json_number(json, "refilled", stats.refilled);
    json_number(json, "flushes", stats.flushes);
    json_number(json, "flushed", stats.flushed);
    json_number(json, "stocked", stats.stocked);
    json_number(json, "exchanged", stats.exchanged);
    json_number(json, "from_stock", stats.from_stock);
    json_number(json, "from_exchange", stats.from_exchange);
    json_number(json, "misses", stats.misses);
    json_number(json, "slabs_attached", stats.slabs_attached);
    json_number(json, "harvests", stats.harvests);
    json_number(json, "harvested", stats.harvested);
    json_number(json, "queue_longest", stats.queue_longest);
    json_number(json, "queue_length", stats.queue_length);
    json_number(json, "cached_bytes", stats_cached_slots(&stats) * stats.size);
    json_number(json, "remote_frees", stats.remote_frees);
    json_slabs(json, &stats);
    json_close(json, "}");
}

/* Threads that end meanwhile may be told or not. */
static noinline void json_threads(struct json *json)
{
    json_open(json, "threads", "[");
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        struct tslab_thread_stats stats;
        char name[OS_NAME_BYTES];
        stats_thread(thread, &stats);
        if (stats.thread == 0) {
            continue;
        }
        json_open(json, NULL, "{");
        json_number(json, "thread", stats.thread);
        json_string(json, "name", os_thread_name((uint32_t)stats.thread, name));
        json_number(json, "allocations", stats.allocations);
        json_number(json, "frees", stats.frees);
        json_number(json, "misses", stats.misses);
        json_number(json, "cached_bytes", stats.cached_bytes);
        json_close(json, "}");
    }
    json_close(json, "]");
}

static const char *policy_name(enum tslab_policy policy)
{
    static const char *const names[] = { "drain", "release", "report", "trap" };
    invariant(policy >= TSLAB_POLICY_DRAIN && policy <= TSLAB_POLICY_TRAP);
    return names[policy - TSLAB_POLICY_DRAIN];
}

static const char *const state_names[] = { "open", "closing", "draining" };

static void json_epoch_entry(struct json *json, const struct tslab_epoch_stats *stats)
{
    json_open(json, NULL, "{");
    json_identity(json, "epoch", stats->epoch.id);
    json_identity(json, "parent", stats->parent.id);
    json_identity(json, "instance", stats->instance.id);
    json_string(json, "label", stats->label);
    json_string(json, "policy", policy_name(stats->policy));
    json_string(json, "state", state_names[stats->state]);
    json_number(json, "inside", stats->inside);
    json_number(json, "age_ms", stats->age_ms);
    json_number(json, "closed_ms", stats->closed_ms);
    json_number(json, "live_objects", stats->live_objects);
    json_number(json, "live_bytes", stats->live_bytes);
    json_number(json, "memory_bytes", stats->memory_bytes);
    json_number(json, "recycled_runs", stats->recycled_runs);
    json_number(json, "slab_bytes", stats->slab_bytes);
    json_number(json, "chunk_bytes", stats->chunk_bytes);
    json_number(json, "large_bytes", stats->large_bytes);
    json_number(json, "cached_bytes", stats->cached_bytes);
    json_close(json, "}");
}

static noinline void json_epochs(struct json *json)
{
    struct tslab_epoch_stats entries[EPOCHS_AT_ONCE];
    json_open(json, "epochs", "[");
    uint32_t from = 0;
    size_t n;
    while ((n = epochs_describe(&from, entries, sizeof entries / sizeof entries[0])) > 0) {
        for (size_t i = 0; i < n; i++) {
            json_epoch_entry(json, &entries[i]);
        }
    }
    json_close(json, "]");
}

static uint64_t group_epochs(const struct label_group *group)
{
    return (uint64_t)group->states[TSLAB_EPOCH_OPEN] + group->states[TSLAB_EPOCH_CLOSING] +
           group->states[TSLAB_EPOCH_DRAINING];
}

static noinline void json_labels(struct json *json)
{
    struct label_group group;
    uint64_t collection = 0;
    json_open(json, "labels", "[");
    for (uint32_t rank = 0; epochs_label(rank, &collection, &group); rank++) {
        json_open(json, NULL, "{");
        json_string(json, "label", group.label);
        json_number(json, "labels", group.labels);
        json_number(json, "epochs", group_epochs(&group));
        for (unsigned state = 0; state < sizeof state_names / sizeof state_names[0]; state++) {
            json_number(json, state_names[state], group.states[state]);
        }
        json_number(json, "oldest_ms", group.oldest_ms);
        json_number(json, "live_objects", group.live_objects);
        json_number(json, "live_bytes", group.live_bytes);
        json_number(json, "memory_bytes", group.memory_bytes);
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
        json_number(json, "limit_bytes", limit.limit_bytes);
        json_number(json, "used_bytes", limit.used_bytes);
        json_number(json, "refusals", limit.refusals);
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
        char value[OPTION_PATH_MOST + 1];
        const bool told = tslab_option_get(names[i], value, sizeof value) == TSLAB_OK;
        invariant(told);
        json_string(json, names[i], told ? value : "");
    }
    json_close(json, "}");
}

TSLAB_API void tslab_stats_json(int fd)
{
    struct json json = { .fd = fd, .first = true };
    json.text = (struct text){ .buffer = json.buffer, .capacity = sizeof json.buffer };
    json_open(&json, NULL, "{");
    json_string(&json, "schema", "tslab-statistics");
    json_number(&json, "version", SCHEMA_VERSION);
    json_string(&json, "library", tslab_version());
    json_string(&json, "program", os_program_name());
    json_number(&json, "pid", os_process_id());
    json_number(&json, "uptime_ms", os_ms_since(engine.started_ms));
    const uint64_t resident = os_resident_bytes();
    json_number(&json, "rss_bytes", resident);
    json_number(&json, "peak_rss_bytes", max_size(os_peak_resident_bytes(), resident));
    json_totals(&json);
    json_accounts(&json);
    json_options(&json);
    json_open(&json, "classes", "[");
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        json_class_entry(&json, class);
    }
    json_close(&json, "]");
    json_threads(&json);
    json_epochs(&json);
    json_labels(&json);
    json_label_limits(&json);
    json_close(&json, "}");
    text_string(&json.text, "\n");
    text_send(&json.text, fd);
}
