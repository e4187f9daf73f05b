/* Committed bytes that are not untouched are resident: the accounts against the kernel's. The program has no huge
 * pages, writes every byte that it has, and lets go of parts in several ways. */
#include "child.h"

#include "audit/accounts.h"
#include "audit/census.h"
#include "common/metadata.h"
#include "os/os.h"
#include "report/statistics.h"

#include <sys/mman.h>
#include <tslab/tslab.h>

/* The mappings of the engine's records, which may be neighbours of somebody else's. */
static struct mapping {
    char *start;
    size_t bytes;
} records[256];
static size_t record_count;
static void *(*real_map)(size_t bytes);

static void *map_and_note(size_t bytes)
{
    void *const start = real_map(bytes);
    CHECK(record_count < COUNT_OF(records));
    if (start != NULL) {
        records[record_count++] = (struct mapping){ start, bytes };
    }
    return start;
}

static size_t resident_records(void)
{
    static unsigned char pages[1024];
    const size_t page = os_page_bytes();
    size_t resident = 0;
    for (size_t i = 0; i < record_count; i++) {
        CHECK(records[i].bytes / page <= COUNT_OF(pages));
        CHECK(mincore(records[i].start, records[i].bytes, pages) == 0);
        for (size_t at = 0; at < records[i].bytes / page; at++) {
            resident += (pages[at] & 1) != 0 ? page : 0;
        }
    }
    return resident;
}

/* The bytes with pages of all mappings between two addresses, as smaps says. */
static size_t resident_between(uintptr_t from, uintptr_t to)
{
    FILE *const file = fopen("/proc/self/smaps", "r");
    CHECK(file != NULL && from < to);
    char line[512];
    size_t kib = 0;
    bool ours = false;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long start, end;
        size_t rss;
        if (sscanf(line, "%llx-%llx ", &start, &end) == 2) {
            ours = start >= from && end <= to;
        } else if (ours && sscanf(line, "Rss: %zu kB", &rss) == 1) {
            kib += rss;
        }
    }
    CHECK(fclose(file) == 0);
    return kib << 10;
}

static void check_near(const char *when, const char *what, size_t told, size_t found)
{
    const size_t apart = told > found ? told - found : found - told;
    CHECK_SAY(apart <= found / 100, "%s: the accounts say %zu KiB of %s, and %zu KiB are resident", when, told >> 10,
              what, found >> 10);
}

enum { UNITS_ALONE, ALL };

/* A report, which asks the kernel, is near in any case. */
static void check_report(const char *when, size_t found)
{
    enum { NEARLY = 64 << 10 };
    struct accounts accounts;
    (void)accounts_take(&accounts, RESIDENT_BY_FILE);
    const size_t told = accounts.committed_bytes - accounts.untouched_bytes;
    const size_t apart = told > found ? told - found : found - told;
    CHECK_SAY(apart <= found / 100 + NEARLY, "%s: a report says %zu KiB, and %zu KiB are resident", when, told >> 10,
              found >> 10);
}

/* The tables lie below the units. Without the kernel, what they have is an estimate where runs have gone
 * (docs/statistics.md). */
static void check_resident(const char *when, int what)
{
    struct accounts accounts;
    (void)accounts_take(&accounts, RESIDENT_UNTOLD);
    const uintptr_t tables = (uintptr_t)arena.units, units = arena.base, end = units + (arena.span_units << UNIT_SHIFT);
    const size_t in_units = resident_between(units, end);
    uint64_t metadata = 0;
    for (const struct account *a = &accounts.tag_table; a <= &accounts.unused_records; a++) {
        metadata += a->bytes - a->untouched_bytes;
    }
    const uint64_t told = accounts.committed_bytes - accounts.untouched_bytes;
    const size_t in_all = in_units + resident_between(tables, units) + resident_records();
    check_near(when, "units", told - metadata, in_units);
    if (what == ALL) {
        check_near(when, "all", told, in_all);
    }
    check_report(when, in_all);
}

/* The part of the RSS that is not the library's, as the summary has it. */
static int64_t not_ours(void)
{
    struct process_figures sums;
    stats_process_get(&sums);
    return (int64_t)os_resident_bytes() -
           (int64_t)(sums.live + sums.waste + sums.caches + sums.retained + sums.metadata);
}

/* It is what it was before the program had objects: its own code, data and stack. */
static void check_not_ours(const char *when, int64_t before)
{
    const int64_t now = not_ours();
    CHECK(now >= 0);
    if (os_is_sanitized()) {
        return; /* what it keeps in its shadow of each object is not ours */
    }
    CHECK_SAY(llabs(now - before) <= 2 << 20, "%s: %lld KiB are not the library's, and were %lld", when,
              (long long)now / 1024, (long long)before / 1024);
}

enum { OBJECTS = 200000, LARGE = 40, LARGE_BYTES = 1 << 20 };
static char *objects[OBJECTS], *large[LARGE];

static size_t size_of(size_t i)
{
    static const size_t sizes[] = { 16, 100, 256, 700, 1500, 4000 };
    return sizes[i % COUNT_OF(sizes)];
}

static char *written(size_t size)
{
    char *const p = tslab_malloc(size);
    CHECK(p != NULL);
    return memset(p, 1, size);
}

static void let_go(size_t step)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        if (i / 512 % step == 0) {
            tslab_free(objects[i]);
            objects[i] = NULL;
        }
    }
}

IN_A_CHILD(what_is_committed_and_touched_is_resident)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = written(size_of(i));
    }
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = written(LARGE_BYTES);
    }
    check_resident("written", ALL);
    let_go(2);
    check_resident("half is free", ALL);
    (void)tslab_trim();
    check_resident("trimmed", ALL);
    for (size_t i = 0; i < OBJECTS; i++) {
        if (objects[i] == NULL && i % 3 == 0) {
            objects[i] = written(size_of(i + 1));
        }
    }
    check_resident("partly filled again", ALL);
    for (size_t i = 0; i < LARGE; i++) {
        tslab_free(large[i]);
    }
    check_resident("no large objects", ALL);
    let_go(1);
    (void)tslab_trim();
    check_resident("all is free", UNITS_ALONE);
}

/* Chunks that are hardly filled, and slots that no thread has had yet. */
IN_A_CHILD(what_nobody_had_is_not_resident)
{
    enum { EPOCHS = 1000 };
    static tslab_epoch epochs[EPOCHS];
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = written(300);
    }
    for (size_t i = 0; i < EPOCHS; i++) {
        epochs[i] = tslab_epoch_open(NULL);
        char *const p = tslab_epoch_malloc(epochs[i], 5000);
        CHECK(p != NULL);
        memset(p, 1, 5000);
    }
    for (size_t size = 16; size <= 200000; size *= 2) {
        keep(written(size));
    }
    check_resident("hardly filled", ALL);
    for (size_t i = 0; i < EPOCHS; i += 2) {
        CHECK(tslab_epoch_release(epochs[i], 0, NULL) == TSLAB_OK);
    }
    check_resident("half released", UNITS_ALONE);
    (void)tslab_trim();
    check_resident("half released and trimmed", UNITS_ALONE);
}

/* Closed epochs that drain: of each, a few objects live in a chunk that is filled in part. */
IN_A_CHILD(what_epochs_that_drain_have_is_resident)
{
    enum { EPOCHS = 1000, EACH = 40, STEP = 8 };
    static char *in_epochs[EPOCHS][EACH];
    const int64_t before = not_ours();
    for (size_t i = 0; i < EPOCHS; i++) {
        const tslab_epoch epoch = tslab_epoch_open(NULL);
        for (size_t at = 0; at < EACH; at++) {
            in_epochs[i][at] = tslab_epoch_malloc(epoch, 1000);
            CHECK(in_epochs[i][at] != NULL);
            memset(in_epochs[i][at], 1, 1000);
        }
        for (size_t at = 0; at < EACH; at++) {
            if (at % STEP != 0) {
                tslab_free(in_epochs[i][at]);
            }
        }
        CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    }
    check_resident("draining", ALL);
    check_not_ours("draining", before);
    (void)tslab_trim();
    check_not_ours("draining, trimmed", before);
    for (size_t at = 0; at < EACH; at += STEP) {
        check_resident("draining, trimmed", ALL);
        for (size_t i = 0; i < EPOCHS; i++) {
            tslab_free(in_epochs[i][at]);
        }
    }
    check_not_ours("drained", before);
    (void)tslab_trim();
    check_not_ours("drained, trimmed", before);
}

/* The bytes with pages of the runs of an epoch, as the kernel says. */
static size_t resident_in(tslab_epoch epoch)
{
    static unsigned char pages[16384];
    const uint32_t id = epoch_by_value(epoch.id)->id;
    size_t resident = 0;
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        const size_t bytes = (size_t)run.units << UNIT_SHIFT, count = bytes / os_page_bytes();
        if (word_epoch(load_plain(&arena.runs[run.first].word)) == id) {
            CHECK(count <= COUNT_OF(pages) && mincore(arena_address(run.first), bytes, pages) == 0);
            for (size_t at = 0; at < count; at++) {
                resident += (pages[at] & 1) != 0 ? os_page_bytes() : 0;
            }
        }
    }
    return resident;
}

/* Slots that are or were in caches were handed out, and need not be written. Of epochs that a thread left it caches no
 * more than LEFT_KIB. Returns what the epoch says. */
static struct tslab_epoch_stats check_epoch(const char *when, tslab_epoch epoch)
{
    struct tslab_epoch_stats stats;
    CHECK(tslab_epoch_stats_get(epoch, &stats) == TSLAB_OK);
    const size_t found = resident_in(epoch), told = stats.resident_bytes;
    const size_t unwritten = stats.cached_bytes + LEFT_KIB * 1024;
    CHECK_SAY(told >= found && told - found <= found / 50 + unwritten,
              "%s: %zu KiB of the epoch are resident, and it says %zu", when, found >> 10, told >> 10);
    CHECK(stats.live_bytes <= stats.memory_bytes && told <= stats.memory_bytes &&
          stats.memory_bytes <= stats.peak_bytes);
    return stats;
}

/* Small objects fill chunks and then slabs; long blocks are longer than a look of a report. */
IN_A_CHILD(what_an_epoch_says_is_resident)
{
    enum { LONG = 4, LONG_BYTES = 24 << 20 };
    static char *blocks[LONG];
    const tslab_epoch epoch = tslab_epoch_open(&(struct tslab_epoch_options){ .label = "resident" });
    CHECK(check_epoch("empty", epoch).peak_bytes == 0 && tslab_epoch_enter(epoch) >= 0);
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = memset(tslab_malloc(size_of(i)), 1, size_of(i));
        if (i % (OBJECTS / 8) == 1) {
            check_epoch("being filled", epoch);
        }
    }
    const uint64_t small = check_epoch("filled", epoch).resident_bytes;
    for (size_t i = 0; i < LONG; i++) {
        blocks[i] = written(LONG_BYTES);
    }
    const uint64_t most = check_epoch("with long blocks", epoch).resident_bytes;
    CHECK(most >= small + LONG * (uint64_t)LONG_BYTES);
    for (size_t i = 0; i < LONG; i++) {
        tslab_free(blocks[i]);
    }
    struct tslab_epoch_stats stats = check_epoch("without long blocks", epoch);
    CHECK(stats.peak_bytes >= most && stats.resident_bytes <= small);
    let_go(2);
    (void)tslab_trim();
    stats = check_epoch("with holes", epoch);
    CHECK_SAY(stats.slab_bytes != 0 && stats.resident_bytes < stats.memory_bytes - (8 << 20),
              "%zu of %zu KiB are resident", (size_t)stats.resident_bytes >> 10, (size_t)stats.memory_bytes >> 10);
    CHECK(tslab_epoch_leave(epoch) == TSLAB_OK && tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    check_epoch("draining", epoch);
    let_go(3);
    (void)tslab_trim();
    stats = check_epoch("draining, with more holes", epoch);
    CHECK(stats.state == TSLAB_EPOCH_DRAINING && stats.peak_bytes >= most);
    let_go(1);
    CHECK(tslab_epoch_stats_get(epoch, &stats) == TSLAB_STALE);
}

/* Many epochs at once, which end: a trim gives their records back, says how much that was, and reports do not count
 * them as memory that is there. */
IN_A_CHILD(records_that_were_given_back_are_not_resident)
{
    enum { EPOCHS = 100000 };
    static tslab_epoch epochs[EPOCHS];
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < EPOCHS; i++) {
            epochs[i] = tslab_epoch_open(NULL);
        }
        check_resident("open", ALL);
        for (size_t i = 0; i < EPOCHS; i++) {
            CHECK(tslab_epoch_close(epochs[i], 0, NULL) == TSLAB_OK);
        }
        check_resident("closed", ALL);
        const size_t before = os_resident_bytes(), given = tslab_trim(), now = os_resident_bytes();
        CHECK_SAY(now < before && given >= (before - now) / 100 * 98, "a trim says %zu KiB, and the RSS fell by %zu",
                  given >> 10, (before - now) >> 10);
        CHECK(given > EPOCHS * (size_t)64);
        /* The walks of checked builds read these records: pages of zeros are in core, too. */
        if (!TSLAB_CHECKED) {
            check_resident("gone", UNITS_ALONE);
        }
        CHECK(tslab_trim() < given / 100);
    }
}

/* Objects that the program has not written, or only at their start: large ones, and slots of several pages. */
IN_A_CHILD(what_the_program_left_untouched_is_not_resident)
{
    const int64_t before = not_ours();
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = tslab_malloc(LARGE_BYTES);
        CHECK(large[i] != NULL);
        memset(large[i], 1, LARGE_BYTES / 2);
    }
    for (size_t i = 0; i < LARGE; i++) {
        objects[i] = tslab_malloc(100000);
        CHECK(objects[i] != NULL);
        objects[i][0] = 1;
    }
    check_not_ours("half touched", before);
    for (size_t i = 0; i < LARGE; i++) {
        tslab_free(large[i]);
        tslab_free(objects[i]);
    }
    check_not_ours("cached", before);
    (void)tslab_trim();
    check_not_ours("half touched and trimmed", before);
}

/* Objects that live are written, and those that were freed were written at their start alone. */
IN_A_CHILD(what_lives_and_is_written_is_live)
{
    enum { WAITING = 200, ROUNDS = 20, LIVING = 10000, LIVING_BYTES = 112 };
    for (size_t i = 0; i < LIVING; i++) {
        keep(written(LIVING_BYTES));
    }
    for (size_t i = 0; i < (size_t)WAITING * ROUNDS; i++) {
        char **const place = &objects[i % WAITING];
        *place = tslab_malloc(1024 + i * 53 % 7000);
        CHECK(*place != NULL);
        (*place)[0] = 1;
        for (size_t at = 0; i % WAITING == WAITING - 1 && at < WAITING; at++) {
            tslab_free(objects[at]);
        }
    }
    struct process_figures sums;
    stats_process_get(&sums);
    CHECK(sums.live >= (uint64_t)LIVING * LIVING_BYTES && sums.caches != 0);
    CHECK(not_ours() >= 0);
}

static const uint64_t seeds[] = { 1, 22, 333 };

/* Objects die at random, in the process and in epochs that stay or are closed, while the program trims now and then,
 * and others take their places. */
IN_CHILDREN(any_history, seeds)
{
    enum { EPOCHS = 10, ROUNDS = 12 }; /* of each class, a cache may be a page off */
    static tslab_epoch epochs[EPOCHS];
    uint64_t random = *(const uint64_t *)argument;
    for (size_t i = 0; i < EPOCHS; i++) {
        epochs[i] = tslab_epoch_open(NULL);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t die = random_next(&random) % 100, come = random_next(&random) % 60;
        for (size_t i = 0; i < OBJECTS; i++) {
            if (objects[i] != NULL && random_next(&random) % 100 < die) {
                tslab_free(objects[i]);
                objects[i] = NULL;
            } else if (objects[i] == NULL && random_next(&random) % 100 < come) {
                const size_t size = i % 5000 == 0 ? 300000 : size_of(random_next(&random) % 6);
                objects[i] = i % 4 == 0 ? tslab_epoch_malloc(epochs[i % EPOCHS], size) : tslab_malloc(size);
                CHECK(objects[i] != NULL);
                memset(objects[i], 1, size);
            }
        }
        const size_t at = random_next(&random) % EPOCHS;
        if (round % 3 == 0) {
            CHECK(tslab_epoch_close(epochs[at], round % 2 == 0 ? TSLAB_CLOSE_RECLAIM : 0, NULL) == TSLAB_OK);
            epochs[at] = tslab_epoch_open(NULL);
        }
        if (round % 2 == 0) {
            (void)tslab_trim();
        }
        check_resident("in any history", UNITS_ALONE);
        for (size_t i = 0; i < EPOCHS; i++) {
            check_epoch("in any history", epochs[i]);
        }
    }
}

static bool never(void)
{
    return false;
}

/* Before the engine maps anything. */
static void begin(void)
{
    real_map = os_calls.map;
    os_calls.map = map_and_note;
    os_calls.huge_on_request = never;
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = begin;

int main(void)
{
    if (os_page_bytes() != 4096) {
        return 0; /* the figures below are of small pages */
    }
    return tests_run();
}
