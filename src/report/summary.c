/* Each part appends to one text, which is sent now and then: threads may have little stack. */
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

#include <string.h>

enum { SUMMARY_CLASSES = 10, SUMMARY_GROUPS = 5 };

/* Tables: a line of heads, and rows of values, each of which ends below its head. `kinds` has a character for each: n
 * for a number, m for bytes in MiB, % for tenths of a percent. Any other stands for itself. */
static void text_row(struct text *text, const char *heads, const char *kinds, const uint64_t *values)
{
    for (; *kinds != 0; kinds++, values++) {
        const size_t before = strspn(heads, " =+"), width = before + strcspn(heads + before, " \n");
        const bool is_less = *kinds == 'm' && (int64_t)*values < 0;
        char digits[24];
        struct text cell = { .buffer = digits, .capacity = sizeof digits - 1 };
        text_string(&cell, is_less ? "-" : "");
        if (*kinds == 'm') {
            text_mib(&cell, is_less ? -*values : *values);
        } else if (*kinds == 'n') {
            text_number(&cell, *values);
        } else if (*kinds == '%') {
            text_number(&cell, *values / 10);
            text_string(&cell, ".");
            text_number(&cell, *values % 10);
        }
        text_part(&cell, kinds, *kinds != 'm' && *kinds != 'n');
        invariant(width > before && cell.length < sizeof digits);
        digits[cell.length] = 0;
        text_right(text, digits, (unsigned)width);
        heads += width;
    }
}

static uint64_t tenths_of_percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : part * 1000 / whole;
}

static void print_title(struct text *text)
{
    const uint64_t up_ms = os_ms_since(engine.started_ms);
    text_string(text, "tslab statistics\n");
    text_foreign(text, os_program_name());
    text_string(text, ", process ");
    text_number(text, os_process_id());
    text_string(text, ", tslab ");
    text_string(text, tslab_version());
    text_string(text, ", up ");
    text_number(text, up_ms / 1000);
    text_string(text, ".");
    text_number(text, up_ms % 1000 / 100);
    text_string(text, " s; bytes in MiB\n");
}

/* "?": the system does not tell the RSS. The rest of the RSS may be negative where the kernel does not tell which pages
 * the program has touched. */
static void print_memory(struct text *text, const struct process_figures *of)
{
    static const char heads[] = "      RSS    = live   + waste  + caches + retained + metadata + not_ours    peak\n";
    const uint64_t rest = of->rss_bytes - of->live - of->waste - of->caches - of->retained - of->metadata;
    const uint64_t values[] = { of->rss_bytes, of->live,     of->waste, of->caches,
                                of->retained,  of->metadata, rest,      of->peak_rss_bytes };
    text_string(text, heads);
    text_row(text, heads, of->rss_bytes != 0 ? "mmmmmmmm" : "?mmmmm??", values);
    text_string(text, "\n");
}

static const char class_heads[] = "  size      live live_bytes cached_bytes slab_bytes   used  allocations hit_rate\n";

static void print_row(struct text *text, unsigned class)
{
    struct class_figures of;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    stats_class_counted(class, &of);
    const uint64_t live_bytes = of.live * of.size, calls = of.allocations + of.frees;
    const uint64_t values[] = { of.size,        of.live,
                                live_bytes,     of.cached_bytes,
                                of.slab_bytes,  tenths_of_percent(live_bytes, of.slab_bytes),
                                of.allocations, tenths_of_percent(not_below_zero(calls, of.misses), calls) };
    text_row(text, class_heads, "nnmmm%n%", values);
    text_string(text, "\n");
}

static void print_large(struct text *text)
{
    static const char name[] = " large";
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
        const uint64_t values[] = { live, live_bytes, 0, run_bytes, tenths_of_percent(live_bytes, run_bytes) };
        text_string(text, name);
        text_row(text, class_heads + strlen(name), "nm m%", values);
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

static noinline void print_classes(struct text *text, int fd)
{
    uint64_t bytes[CLASS_LIMIT] = { 0 };
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct class_figures figures;
        stats_class_counted(c, &figures);
        bytes[c] = figures.slab_bytes;
    }
    text_string(text, "size classes with most memory, and large objects\n");
    text_string(text, class_heads);
    unsigned class;
    for (unsigned i = 0; i < SUMMARY_CLASSES && (class = class_with_most(bytes)) != CLASS_NONE; i++) {
        invariant(bytes[class] >= UNIT_BYTES);
        print_row(text, class);
        bytes[class] = 0;
        text_send_part(text, fd);
    }
    print_large(text);
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

/* Those that drain come first, each with the most memory first. */
static noinline void print_epochs(struct text *text, int fd)
{
    enum { GROUP_LABEL_COLUMNS = 24 };
    static const char heads[] = "epochs draining oldest_ms   live memory   peak resident  refused label\n";
    struct label_group of;
    unsigned told = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t collection = 0;
        for (uint32_t rank = 0; told < SUMMARY_GROUPS && epochs_label(rank, &collection, &of); rank++) {
            if ((of.draining != 0) == (pass == 0)) {
                const uint64_t values[] = { of.epochs,       of.draining,   of.oldest_ms,      of.live_bytes,
                                            of.memory_bytes, of.peak_bytes, of.resident_bytes, of.refused };
                const char *const label = of.label[0] == 0 ? "(no label)" : of.label;
                text_send_part(text, fd);
                text_string(text, told++ == 0 ? heads : "");
                text_row(text, heads, "nnnmmmmn", values);
                text_label(text, of.labels > 1 ? "(others)" : label, GROUP_LABEL_COLUMNS);
            }
        }
    }
}

/* The labels that have a limit, or had one and were refused something. */
static noinline void print_label_limits(struct text *text, int fd)
{
    static const char heads[] = "limit_bytes used_bytes peak_used_bytes   refusals label\n";
    struct label_limit of;
    unsigned told = 0;
    for (uint32_t i = 0; label_limit_get(i, &of); i++) {
        if (of.limit_bytes != 0 || of.refusals != 0) {
            text_send_part(text, fd);
            text_string(text, told++ == 0 ? heads : "");
            text_row(text, heads, "mmmn", &of.limit_bytes);
            text_label(text, of.label, LABEL_BYTES);
        }
    }
}

static void print_options(struct text *text, int fd)
{
    const char *head = "options that are not default\n";
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (option_is_changed(i)) {
            text_send_part(text, fd);
            text_string(text, head);
            text_string(text, "  ");
            text_string(text, option_name(i));
            text_string(text, "=");
            option_tell(text, i, option_get(i));
            text_string(text, "\n");
            head = "";
        }
    }
}

static noinline bool print_parts(int fd, const struct process_figures *figures)
{
    char buffer[REPORT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    print_title(&text);
    print_memory(&text, figures);
    print_classes(&text, fd);
    print_epochs(&text, fd);
    print_label_limits(&text, fd);
    print_options(&text, fd);
    text_send(&text, fd);
    return !text.lost;
}

bool summary_print(int fd)
{
    struct process_figures figures;
    stats_process_get(&figures); /* not below the buffer on the stack */
    return print_parts(fd, &figures);
}
