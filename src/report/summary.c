/* Each part is a function with a buffer of its own, so that no two of them are on the stack at once. */
#include "report/summary.h"

#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/accounts.h"
#include "audit/census.h"
#include "common/option.h"
#include "common/quota.h"
#include "malloc/engine.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"
#include "report/epoch_list.h"
#include "report/statistics.h"

enum { SUMMARY_CLASSES = 10, SUMMARY_GROUPS = 5 };

struct column {
    const char *head;
    unsigned width;
};

static void text_heads(struct text *text, const struct column *columns, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        invariant(columns[i].width > 0 && columns[i].head != NULL);
        text_right(text, columns[i].head, columns[i].width);
    }
}

static noinline bool print_title(int fd)
{
    char buffer[REPORT_PART_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    const uint64_t up_ms = os_ms_since(engine.started_ms);
    text_string(&text, "tslab statistics\n");
    text_foreign(&text, os_program_name());
    text_string(&text, ", process ");
    text_number(&text, os_process_id(), 0);
    text_string(&text, ", tslab ");
    text_string(&text, tslab_version());
    text_string(&text, ", up ");
    text_number(&text, up_ms / 1000, 0);
    text_string(&text, ".");
    text_number(&text, up_ms % 1000 / 100, 0);
    text_string(&text, " s; bytes in MiB\n");
    text_send(&text, fd);
    return !text.lost;
}

/* "?": the system does not tell the RSS. */
static void text_mib_if(struct text *text, bool is_known, uint64_t bytes, unsigned width)
{
    if (is_known) {
        text_mib(text, bytes, width);
    } else {
        text_right(text, "?", width);
    }
}

/* What remains of the RSS may be less than nothing where the kernel does not tell which pages the program has touched.
 */
static noinline bool print_memory(int fd, const struct process_figures *figures)
{
    static const struct column columns[] = { { "RSS", 9 },         { "= live", 10 },     { "+ waste", 10 },
                                             { "+ caches", 10 },   { "+ retained", 11 }, { "+ metadata", 11 },
                                             { "+ not_ours", 11 }, { "peak", 8 } };
    enum { COLUMNS = sizeof columns / sizeof columns[0], TERM_COLUMNS = 5 };
    _Static_assert(COLUMNS == TERM_COLUMNS + 3, "the terms, and what they are terms of");
    char buffer[REPORT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    const uint64_t terms[TERM_COLUMNS] = { figures->live, figures->waste, figures->caches, figures->retained,
                                           figures->metadata };
    const uint64_t resident = figures->rss_bytes;
    uint64_t ours = 0;
    text_heads(&text, columns, COLUMNS);
    text_string(&text, "\n");
    text_mib_if(&text, resident != 0, resident, columns[0].width);
    for (unsigned i = 0; i < TERM_COLUMNS; i++) {
        text_mib(&text, terms[i], columns[1 + i].width);
        ours += terms[i];
    }
    if (resident >= ours || resident == 0) {
        text_mib_if(&text, resident != 0, resident - ours, columns[1 + TERM_COLUMNS].width);
    } else {
        char digits[24];
        struct text less = { .buffer = digits, .capacity = sizeof digits - 1 };
        text_string(&less, "-");
        text_mib(&less, ours - resident, 0);
        invariant(less.length < sizeof digits);
        digits[less.length] = 0;
        text_right(&text, digits, columns[1 + TERM_COLUMNS].width);
    }
    text_mib_if(&text, resident != 0, figures->peak_rss_bytes, columns[2 + TERM_COLUMNS].width);
    text_string(&text, "\n");
    text_send(&text, fd);
    return !text.lost;
}

static void text_percent(struct text *text, uint64_t part, uint64_t whole, unsigned width)
{
    char digits[24];
    struct text percent = { .buffer = digits, .capacity = sizeof digits - 1 };
    const uint64_t tenths = whole == 0 ? 0 : part * 1000 / whole;
    text_number(&percent, tenths / 10, 0);
    text_string(&percent, ".");
    text_number(&percent, tenths % 10, 0);
    text_string(&percent, "%");
    invariant(percent.length < sizeof digits);
    digits[percent.length] = 0;
    text_right(text, digits, width);
}

static const struct column class_columns[] = { { "size", 6 },          { "live", 10 },       { "live_bytes", 11 },
                                               { "cached_bytes", 13 }, { "slab_bytes", 11 }, { "used", 7 },
                                               { "allocations", 13 },  { "hit_rate", 9 } };

static void print_row(struct text *text, unsigned class)
{
    const struct column *column = class_columns;
    struct class_figures figures;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    stats_class_counted(class, &figures);
    const uint64_t live_bytes = figures.live * figures.size, calls = figures.allocations + figures.frees;
    text_number(text, figures.size, column++->width);
    text_number(text, figures.live, column++->width);
    text_mib(text, live_bytes, column++->width);
    text_mib(text, figures.cached_bytes, column++->width);
    text_mib(text, figures.slab_bytes, column++->width);
    text_percent(text, live_bytes, figures.slab_bytes, column++->width);
    text_number(text, figures.allocations, column++->width);
    text_percent(text, not_below_zero(calls, figures.misses), calls, column++->width);
    text_string(text, "\n");
}

static void print_large(struct text *text)
{
    const struct column *column = class_columns;
    uint64_t live = 0, live_bytes = 0, run_bytes = 0;
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        if (run.kind == CENSUS_LARGE) {
            live++;
            invariant(run.large_bytes <= (uint64_t)run.units << UNIT_SHIFT);
            live_bytes += run.large_bytes;
            run_bytes += (uint64_t)run.units << UNIT_SHIFT;
        }
    }
    if (live != 0) {
        text_right(text, "large", column++->width);
        text_number(text, live, column++->width);
        text_mib(text, live_bytes, column++->width);
        text_right(text, "", column++->width);
        text_mib(text, run_bytes, column++->width);
        text_percent(text, live_bytes, run_bytes, column++->width);
        text_string(text, "\n");
    }
}

static unsigned class_with_most(const uint64_t bytes[CLASS_LIMIT])
{
    unsigned most = CLASS_NONE;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        most = bytes[c] > bytes[most] ? c : most;
    }
    invariant(bytes[CLASS_NONE] == 0);
    return most;
}

static noinline bool print_classes(int fd)
{
    char buffer[REPORT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    uint64_t bytes[CLASS_LIMIT] = { 0 };
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct class_figures figures;
        stats_class_counted(c, &figures);
        bytes[c] = figures.slab_bytes;
    }
    text_string(&text, "size classes with most memory, and large objects\n");
    text_heads(&text, class_columns, sizeof class_columns / sizeof class_columns[0]);
    text_string(&text, "\n");
    unsigned class;
    for (unsigned i = 0; i < SUMMARY_CLASSES && (class = class_with_most(bytes)) != CLASS_NONE; i++) {
        invariant(bytes[class] >= UNIT_BYTES);
        print_row(&text, class);
        bytes[class] = 0;
        text_send_part(&text, fd);
    }
    print_large(&text);
    text_send(&text, fd);
    return !text.lost;
}

/* A label, cut so that the line stays within 80 columns. */
static void text_label(struct text *text, const char *label, size_t columns)
{
    const size_t start = text->length;
    text_string(text, " ");
    text_foreign(text, label);
    invariant(text->length < text->capacity && start < text->length);
    text->length = min_size(text->length, start + 1 + columns);
    text_string(text, "\n");
}

static void print_group(struct text *text, const struct column *column, const struct label_group *group)
{
    enum { GROUP_LABEL_COLUMNS = 29 };
    text_number(text, group->epochs, column++->width);
    text_number(text, group->draining, column++->width);
    text_number(text, group->oldest_ms, column++->width);
    text_mib(text, group->live_bytes, column++->width);
    text_mib(text, group->memory_bytes, column++->width);
    text_label(text,
               group->labels > 1      ? "(others)"
               : group->label[0] == 0 ? "(no label)"
                                      : group->label,
               GROUP_LABEL_COLUMNS);
}

/* Those that drain come first, each with the most memory first. */
static noinline bool print_epochs(int fd)
{
    static const struct column columns[] = {
        { "epochs", 6 }, { "draining", 9 }, { "oldest_ms", 11 }, { "live_bytes", 11 }, { "memory_bytes", 13 }
    };
    char buffer[REPORT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    struct label_group group;
    unsigned told = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t collection = 0;
        for (uint32_t rank = 0; told < SUMMARY_GROUPS && epochs_label(rank, &collection, &group); rank++) {
            if ((group.draining != 0) != (pass == 0)) {
                continue;
            }
            if (told++ == 0) {
                text_heads(&text, columns, sizeof columns / sizeof columns[0]);
                text_string(&text, " label\n");
            }
            print_group(&text, columns, &group);
        }
    }
    text_send(&text, fd);
    return !text.lost;
}

/* The labels that have a limit, or had one and were refused something. */
static noinline bool print_label_limits(int fd)
{
    static const struct column columns[] = { { "limit_bytes", 11 }, { "used_bytes", 11 }, { "refusals", 11 } };
    char buffer[REPORT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    struct label_limit limit;
    for (uint32_t i = 0; label_limit_get(i, &limit); i++) {
        if (limit.limit_bytes == 0 && limit.refusals == 0) {
            continue;
        }
        if (text.length == 0) {
            text_heads(&text, columns, sizeof columns / sizeof columns[0]);
            text_string(&text, " label\n");
        }
        text_mib(&text, limit.limit_bytes, columns[0].width);
        text_mib(&text, limit.used_bytes, columns[1].width);
        text_number(&text, limit.refusals, columns[2].width);
        text_label(&text, limit.label, LABEL_BYTES);
    }
    text_send(&text, fd);
    return !text.lost;
}

static noinline bool print_options(int fd)
{
    char buffer[2048]; /* all of them, with the longest values */
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    text_string(&text, "options that are not default\n");
    if (option_describe_changed(&text) == 0) {
        text.length = 0;
    }
    text_send(&text, fd);
    return !text.lost;
}

bool summary_print(int fd)
{
    struct process_figures figures;
    stats_process_get(&figures); /* not below a buffer on the stack */
    return print_title(fd) && print_memory(fd, &figures) && print_classes(fd) && print_epochs(fd) &&
           print_label_limits(fd) && print_options(fd);
}
