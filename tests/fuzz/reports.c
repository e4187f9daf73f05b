/* Reports as text and JSON, at any moment: well-formed, and saying what the library says otherwise. The parser has
 * memory of its own, and what stdio allocates is not part of the case: it lands outside of epochs. */
#include "model.h"
#include "names.h"

#include "figures.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The memory of the parser: taken piece by piece, and given back all at once before the next report. */

enum { PARSER_BYTES = 64 << 20, PIECE_HEAD = 16 };

static struct {
    char *start;
    size_t used;
} room;

static void *room_take(size_t size)
{
    if (room.start == NULL) {
        room.start =
            mmap(NULL, PARSER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK_SAY(room.start != MAP_FAILED, "there is no memory for a parser");
    }
    const size_t bytes = PIECE_HEAD + (size + PIECE_HEAD - 1) / PIECE_HEAD * PIECE_HEAD;
    CHECK_SAY(bytes <= PARSER_BYTES - room.used, "a report needs more than %d bytes to be parsed", PARSER_BYTES);
    char *const piece = room.start + room.used;
    room.used += bytes;
    memcpy(piece, &size, sizeof size);
    return piece + PIECE_HEAD;
}

static void room_give(void *p)
{
}

static int new_file(void)
{
    const int file = memfd_create("report", MFD_CLOEXEC);
    CHECK_SAY(file >= 0, "there is no file in memory: %s", strerror(errno));
    return file;
}

struct contents {
    char *text; /* not ended by 0 */
    size_t length;
};

static struct contents contents_of(int file)
{
    const off_t length = lseek(file, 0, SEEK_END);
    CHECK_SAY(length > 0, "nothing was reported");
    char *const text = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(text != MAP_FAILED);
    CHECK(text[length - 1] == '\n' && memchr(text, 0, (size_t)length) == NULL);
    return (struct contents){ text, (size_t)length };
}

static void done_with(struct contents contents, int file)
{
    CHECK(munmap(contents.text, contents.length) == 0 && close(file) == 0);
}

/* JSON. */

static uint64_t number(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    CHECK_SAY(json_is_integer(value) && json_integer_value(value) >= 0, "%s is no number", key);
    return (uint64_t)json_integer_value(value);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    CHECK_SAY(text != NULL, "%s is no text", key);
    return text;
}

static void same_number(const json_t *object, const char *key, uint64_t wanted)
{
    const uint64_t found = number(object, key);
    CHECK_SAY(found == wanted, "%s is %llu, not %llu", key, (unsigned long long)found, (unsigned long long)wanted);
}

/* Each total by its name, and the struct of some of them. */
static void check_totals(const json_t *totals, const struct tslab_stats *stats)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)totals, name, value)
    {
        same_number(totals, name, figure(name));
    }
#define SAME(member) same_number(totals, #member, stats->member)
    SAME(live_objects);
    SAME(live_bytes);
    SAME(large_bytes);
    SAME(cached_bytes);
    SAME(slab_bytes);
    SAME(chunk_bytes);
    SAME(dirty_bytes);
    SAME(committed_bytes);
    SAME(metadata_bytes);
    SAME(allocations);
    SAME(frees);
    SAME(threads);
    SAME(epochs_open);
    SAME(epochs_draining);
#undef SAME
}

/* Of an account in the report, and by its name. */
static uint64_t bytes_of(const json_t *told, const char *account)
{
    char name[64];
    snprintf(name, sizeof name, "account.%s.bytes", account);
    same_number(json_object_get(told, account), "bytes", figure(name));
    return figure(name);
}

/* One lane runs at a time, so nothing is in motion, and each byte is in one account. */
static void check_accounts(const json_t *told, const struct tslab_stats *stats)
{
    uint64_t sum = 0, untouched = 0;
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)(uintptr_t)told, name, entry)
    {
        if (json_is_object(entry)) {
            sum += number(entry, "bytes");
            untouched += number(entry, "untouched_bytes");
        }
    }
    same_number(told, "committed_bytes", sum);
    same_number(told, "untouched_bytes", untouched);
    same_number(told, "committed_bytes", figure("account.committed.bytes"));
    same_number(told, "untouched_bytes", figure("account.committed.untouched_bytes"));
    same_number(json_object_get(told, "live_slots"), "bytes", stats->live_bytes);
    same_number(json_object_get(told, "moving_runs"), "bytes", 0);
    CHECK(bytes_of(told, "live_large") + bytes_of(told, "large_tails") == stats->large_bytes);
    CHECK(bytes_of(told, "magazines") + bytes_of(told, "outboxes") + bytes_of(told, "exchange") +
              bytes_of(told, "claimed") + bytes_of(told, "hot_runs") ==
          stats->cached_bytes);
    CHECK(bytes_of(told, "live_chunks") + bytes_of(told, "dead_in_chunks") + bytes_of(told, "unfilled_chunks") +
              bytes_of(told, "warm_chunks") ==
          stats->chunk_bytes);
    CHECK(bytes_of(told, "dirty_runs") == stats->dirty_bytes);
}

static void check_classes(const json_t *classes, const struct tslab_stats *stats)
{
    uint64_t opened = 0, bytes = 0, live = 0;
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *const entry = json_array_get(classes, i);
        opened += number(entry, "slabs_new");
        bytes += number(entry, "slab_bytes");
        live += number(entry, "live");
        same_number(entry, "slabs_net", number(entry, "slabs_new") - number(entry, "slabs_recycled"));
        same_number(entry, "slab_bytes",
                    number(entry, "live") * number(entry, "size") + number(entry, "cached_bytes") +
                        number(entry, "free_bytes") + number(entry, "tail_bytes"));
        same_number(entry, "live", number(entry, "allocations") - number(entry, "frees"));
        same_number(entry, "slabs_net",
                    number(entry, "slabs_full") + number(entry, "slabs_partial") + number(entry, "slabs_empty"));
        CHECK(number(entry, "pages_free") + number(entry, "pages_kept_4") <= number(entry, "pages"));
    }
    CHECK(opened == figure("slabs_opened") && bytes == stats->slab_bytes && live == stats->live_objects);
    const json_t *const first = json_array_get(classes, 0);
    char name[64];
    if (first != NULL) {
        snprintf(name, sizeof name, "class.%u.live", (unsigned)number(first, "size"));
        same_number(first, "live", figure(name));
    }
}

static void check_epoch(const json_t *entry, const struct tslab_epoch_stats *stats)
{
    static const char *const policies[] = { "drain", "release", "report", "trap" };
    static const char *const states[] = { "open", "closing", "draining" };
    char label[sizeof stats->label * 2];
    CHECK(strcmp(text_of(entry, "policy"), policies[stats->policy - TSLAB_POLICY_DRAIN]) == 0);
    CHECK(strcmp(text_of(entry, "state"), states[stats->state]) == 0);
    CHECK(strtoull(text_of(entry, "epoch"), NULL, 16) == stats->epoch.id);
    CHECK(strtoull(text_of(entry, "parent"), NULL, 16) == stats->parent.id);
    CHECK(strtoull(text_of(entry, "instance"), NULL, 16) == stats->instance.id);
    CHECK(number(entry, "live_objects") == stats->live_objects && number(entry, "inside") == stats->inside);
    CHECK(number(entry, "live_bytes") == stats->live_bytes && number(entry, "memory_bytes") == stats->memory_bytes);
    CHECK(stats->memory_bytes == stats->slab_bytes + stats->chunk_bytes + stats->large_bytes);
    CHECK(number(entry, "peak_bytes") == stats->peak_bytes && number(entry, "resident_bytes") == stats->resident_bytes);
    CHECK(number(entry, "limit_bytes") == stats->limit_bytes && number(entry, "refusals") == stats->refusals);
    CHECK(stats->live_bytes + stats->cached_bytes <= stats->memory_bytes);
    CHECK(stats->resident_bytes <= stats->memory_bytes && stats->memory_bytes <= stats->peak_bytes);
    /* Bytes that are no UTF-8 are replaced there. All else is as it was given. */
    snprintf(label, sizeof label, "%s", text_of(entry, "label"));
    CHECK(strstr(label, "\xef\xbf\xbd") != NULL || strcmp(label, stats->label) == 0);
}

static void report_json(void)
{
    const int file = new_file();
    struct tslab_stats stats;
    struct tslab_epoch_stats list[EPOCHS];
    tslab_stats_json(file);
    tslab_stats_get(&stats);
    const size_t epochs = tslab_epoch_list(list, EPOCHS);
    const struct contents contents = contents_of(file);
    json_error_t error;
    json_set_alloc_funcs(room_take, room_give);
    json_t *const report = json_loadb(contents.text, contents.length, JSON_REJECT_DUPLICATES, &error);
    CHECK_SAY(report != NULL, "the report is no JSON: %s at %d", error.text, error.position);
    CHECK(strcmp(text_of(report, "schema"), "tslab-statistics") == 0);
    CHECK(strcmp(text_of(report, "library"), tslab_version()) == 0);
    check_totals(json_object_get(report, "totals"), &stats);
    const json_t *const entries = json_object_get(report, "epochs"), *const classes =
                                                                         json_object_get(report, "classes");
    CHECK(json_array_size(entries) == epochs && epochs <= EPOCHS);
    for (size_t i = 0; i < epochs; i++) {
        check_epoch(json_array_get(entries, i), &list[i]);
    }
    check_classes(classes, &stats);
    check_accounts(json_object_get(report, "accounts"), &stats);
    json_decref(report);
    done_with(contents, file);
}

/* Text: lines that no label breaks. */

static void check_text(int file)
{
    static const char title[] = "tslab statistics\n";
    const struct contents contents = contents_of(file);
    CHECK(contents.length > sizeof title && memcmp(contents.text, title, sizeof title - 1) == 0);
    for (size_t i = 0; i < contents.length; i++) {
        const unsigned char c = (unsigned char)contents.text[i];
        CHECK_SAY(c == '\n' || (c >= ' ' && c != 0x7f), "a report has the byte %#x", c);
    }
    done_with(contents, file);
}

static void report_text(void)
{
    const int file = new_file();
    tslab_stats_print(file);
    check_text(file);
}

/* The profile, whether or not allocations are sampled. */
static void report_profile(void)
{
    const int file = new_file();
    CHECK(tslab_profile_write(file) == TSLAB_OK);
    const struct contents contents = contents_of(file);
    CHECK(memmem(contents.text, contents.length, "tslab-profile 1\n", 16) == contents.text);
    CHECK(memmem(contents.text, contents.length, "\nmaps\n", 6) != NULL);
    done_with(contents, file);
}

/* The reports of libc's names. */

static void report_on_stderr(void)
{
    const int file = new_file(), saved = dup(STDERR_FILENO);
    CHECK(saved >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    NAME(malloc_stats)();
    CHECK(dup2(saved, STDERR_FILENO) == STDERR_FILENO && close(saved) == 0);
    check_text(file);
}

/* family/report.c reads its XML. */
static void report_xml(const struct operation *operation)
{
    const int file = new_file();
    const int copy = dup(file);
    FILE *const stream = fdopen(copy, "w");
    if (stream == NULL) {
        CHECK(FUZZ_DROPIN && world.may_refuse && close(file) == 0 && close(copy) == 0);
        return;
    }
    CHECK(setvbuf(stream, NULL, _IONBF, 0) == 0);
    CHECK(NAME(malloc_info)(1 + (int)(operation->value % 100), stream) == EINVAL);
    CHECK(NAME(malloc_info)(0, stream) == 0 && fclose(stream) == 0);
    const struct contents contents = contents_of(file);
    CHECK(memcmp(contents.text, "<malloc ", 8) == 0);
    done_with(contents, file);
}

static int clipped(size_t bytes)
{
    return bytes > 0x7fffffff ? 0x7fffffff : (int)bytes;
}

enum { TRIM_THRESHOLD = -1 }; /* glibc's M_TRIM_THRESHOLD */

static void report_numbers(const struct operation *operation)
{
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    const struct NAME(mallinfo2) wide = NAME(mallinfo2)();
    const struct NAME(mallinfo) narrow = NAME(mallinfo)();
    CHECK(wide.uordblks == stats.live_bytes + stats.chunk_bytes + stats.large_bytes &&
          wide.fsmblks == stats.cached_bytes);
    CHECK(wide.uordblks + wide.fordblks >= wide.arena && wide.keepcost == stats.dirty_bytes);
    CHECK(narrow.arena == clipped(wide.arena) && narrow.uordblks == clipped(wide.uordblks) &&
          narrow.fordblks == clipped(wide.fordblks) && narrow.fsmblks == clipped(wide.fsmblks) &&
          narrow.keepcost == clipped(wide.keepcost));
    CHECK(NAME(mallopt)((int)operation->value, 0) == ((int)operation->value == TRIM_THRESHOLD));
}

void report_one(const struct operation *operation)
{
    tslab_work_pause();
    shortage_waits(true);
    room.used = 0;
    switch (operation->way) {
    case 0:
    case 1:
    case 2:
        report_json();
        break;
    case 3:
        report_text();
        report_profile();
        break;
    case 4:
        report_on_stderr();
        break;
    case 5:
        report_xml(operation);
        break;
    default:
        report_numbers(operation);
    }
    shortage_waits(false);
    STATUS(tslab_work_resume(), TSLAB_OK);
}
