/* The fate of survivors and of their memory under each policy, as a user would write it. */
#include "epoch.h"
#include "figures.h"

static struct total_figures process_stats(void)
{
    struct total_figures stats;
    totals_get(&stats);
    return stats;
}

/* The request of the examples: it parses something, keeps something, and drops the rest. */

enum { PARSED = 500, SESSIONS = 10 };

struct request {
    void *parsed[PARSED];
    size_t sizes[PARSED];
};

static void parse(struct request *request, tslab_epoch epoch, uint64_t seed)
{
    uint64_t random = seed;
    for (size_t i = 0; i < PARSED; i++) {
        request->sizes[i] = some_size(&random);
        request->parsed[i] = filled(epoch, request->sizes[i], seed + i);
    }
}

static void drop(struct request *request, uint64_t seed, size_t first)
{
    for (size_t i = first; i < PARSED; i++) {
        verify_and_free(request->parsed[i], request->sizes[i], seed + i);
    }
}

static size_t usable(const struct request *request, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += tslab_usable_size(request->parsed[i]);
    }
    return bytes;
}

static size_t chunk_bytes(void)
{
    struct total_figures stats;
    totals_get(&stats);
    return stats.chunk_bytes;
}

/* REPORT. */

struct reported {
    const char *label;
    size_t count;
    bool at_the_last_leave;
};

/* Says first what the library is to say. */
static void report_survivors(const void *argument)
{
    static struct request request;
    const struct reported *const reported = argument;
    const size_t count = reported->count;
    const tslab_epoch epoch = opened_as(reported->label, TSLAB_POLICY_REPORT);
    enter(epoch);
    parse(&request, epoch, 1);
    if (reported->at_the_last_leave) {
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
    }
    drop(&request, 1, count);
    if (count != 0) {
        CHECK(dprintf(STDERR_FILENO, "tslab: epoch '%.31s' closed with %zu survivor%s, %zu bytes\n", reported->label,
                      count, count == 1 ? "" : "s", usable(&request, count)) > 0);
    }
    leave(epoch);
    if (!reported->at_the_last_leave) {
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
        CHECK(report.survivors == count && report.survivor_bytes == usable(&request, count));
    }
    /* They are valid, as with DRAIN. */
    for (size_t i = 0; i < count; i++) {
        CHECK(stats_of(epoch).state == TSLAB_EPOCH_DRAINING);
        verify_and_free(request.parsed[i], request.sizes[i], 1 + i);
    }
    check_gone(epoch);
}

/* A label comes from the program's user now and then. */
TEST(report_is_a_line_about_the_survivors)
{
    static const char *const labels[] = { "a request to /login", "%s%n%d", "0123456789012345678901234567890123456789" };
    static const size_t counts[] = { 0, 1, 3, SESSIONS };
    for (size_t way = 0; way < 2; way++) {
        for (size_t i = 0; i < COUNT_OF(counts); i++) {
            const struct reported reported = { labels[i % COUNT_OF(labels)], counts[i], way == 1 };
            const struct child child = child_run(report_survivors, &reported);
            const char *const end = strchr(child.said, '\n');
            assert_int_equal(child.status, 0);
            assert_int_equal(end != NULL, counts[i] != 0);
            if (end != NULL) {
                assert_int_equal(strlen(end + 1), end + 1 - child.said);
                assert_memory_equal(end + 1, child.said, strlen(end + 1));
            }
        }
    }
}

/* TRAP. */

static const size_t trapped_sizes[] = { 1, 100, 3000, 30000, 100000, 5000000 };

struct trap {
    size_t size;
    void (*touch)(char *);
    bool handle;
};

static void touch_by_reading(char *p)
{
    static char seen;
    seen = *(volatile char *)p;
    (void)keep(&seen);
}

static void touch_by_writing(char *p)
{
    *(volatile char *)p = 1;
}

static void (*const touches[])(char *) = { touch_by_reading, touch_by_writing };

static void touch_what_is_trapped(const void *argument)
{
    const struct trap *const trap = argument;
    const tslab_epoch epoch = opened_as("trap", TSLAB_POLICY_TRAP);
    char *const own = fill(tslab_malloc(trap->size), trap->size, 5);
    enter(epoch);
    void *p = NULL;
    for (size_t i = 0; i < 50; i++) {
        (void)filled(epoch, trap->size / 10 + 1, i);
    }
    if (trap->handle) {
        CHECK(tslab_handle_malloc(epoch, trap->size, &p).id != 0);
        fill(p, trap->size, 1);
    } else {
        p = filled(epoch, trap->size, 1);
    }
    leave(epoch);
    verify(p, trap->size, 1);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
    /* Life goes on beside it, and does not come by its memory. */
    for (size_t i = 0; i < 300; i++) {
        const tslab_epoch next = opened();
        tslab_free(filled(next, trap->size, i));
        tslab_free(fill(tslab_malloc(trap->size), trap->size, i));
        STATUS(tslab_epoch_close(next, 0, NULL), TSLAB_OK);
    }
    verify_and_free(own, trap->size, 5);
    CHECK(write(STDERR_FILENO, "touching", 8) == 8);
    trap->touch(p);
}

TEST(trap_faults_at_a_later_touch)
{
    for (size_t i = 0; i < COUNT_OF(trapped_sizes); i++) {
        for (size_t way = 0; way < COUNT_OF(touches); way++) {
            for (int handle = 0; handle < 2; handle++) {
                const struct trap trap = { trapped_sizes[i], touches[way], handle != 0 };
                const struct child child = child_run(touch_what_is_trapped, &trap);
                assert_string_equal(child.said, "touching");
                assert_true(WIFSIGNALED(child.status));
                assert_int_equal(WTERMSIG(child.status), SIGSEGV);
            }
        }
    }
}

/* A trapped run has no pages, and is used again when enough others were trapped. */
CASE(trap_costs_no_memory_for_ever)
{
    const size_t rounds = 12000;
    size_t most = 0;
    for (size_t i = 0; i < rounds; i++) {
        const tslab_epoch epoch = opened_as("trap", TSLAB_POLICY_TRAP);
        memset(tslab_epoch_malloc(epoch, 40000), 1, 40000);
        memset(tslab_epoch_malloc(epoch, 100), 1, 100);
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        if (i % 1000 == 0) {
            const size_t now = resident_kib();
            most = now > most ? now : most;
        }
    }
    /* Each held 56 KiB or more: 656 MiB in all. */
    const struct total_figures stats = process_stats();
    CHECK_SAY(stats.committed_bytes < (size_t)600 * MEGABYTE, "%zu bytes are accessible", stats.committed_bytes);
    CHECK_SAY(EPOCH_SANITIZED || most < 32 * KILOBYTE, "%zu KiB are resident", most);
}

/* Nor do they hold addresses so long that a small arena has none left. */
CASE_WITH("TSLAB_ARENA_BYTES=16777216", trap_gives_way)
{
    for (size_t i = 0; i < 3000; i++) {
        const tslab_epoch epoch = opened_as(NULL, TSLAB_POLICY_TRAP);
        CHECK(tslab_epoch_malloc(epoch, 30000) != NULL && tslab_epoch_malloc(epoch, 100) != NULL);
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    }
}

/* Memory comes back. */

enum { BIG = 64 * MEGABYTE, BIG_OBJECTS = 400000 };
static void *big[BIG_OBJECTS];
static size_t big_sizes[BIG_OBJECTS];

/* Fills an epoch with as many bytes of objects of mixed sizes. */
static size_t fill_up(tslab_epoch epoch, size_t bytes)
{
    uint64_t random = 77;
    size_t count = 0;
    for (size_t sum = 0; sum < bytes; sum += big_sizes[count++]) {
        CHECK(count < BIG_OBJECTS);
        big_sizes[count] = some_size(&random);
        big[count] = filled(epoch, big_sizes[count], count);
    }
    return count;
}

/* How many of the pages on which these objects start are in memory. */
static size_t resident_pages(size_t count)
{
    size_t resident = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char in_memory = 0;
        void *const page = (void *)((uintptr_t)big[i] & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1));
        resident += mincore(page, 1, &in_memory) == 0 && (in_memory & 1) != 0;
    }
    return resident;
}

CASE(reclaim_gives_back_a_released_epoch)
{
    tslab_free(tslab_malloc(1));
    memset(big, 0, sizeof big);
    memset(big_sizes, 0, sizeof big_sizes);
    const size_t resident_before = resident_kib() * KILOBYTE;
    const tslab_epoch epoch = opened_as("big", TSLAB_POLICY_RELEASE);
    const size_t count = fill_up(epoch, BIG);
    const size_t full = resident_kib() * KILOBYTE;
    CHECK(full >= resident_before + BIG);
    CHECK(resident_pages(count) == count);
    const struct total_figures before = process_stats();
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
    const struct total_figures after = process_stats();
    const size_t empty = resident_kib() * KILOBYTE;
    check_gone(epoch);
    const size_t left = resident_pages(count);
    CHECK_SAY(left * 100 <= count, "%zu of %zu objects' pages are still in memory", left, count);
    const size_t gained = full - resident_before;
    CHECK_SAY(HEAVY || empty <= resident_before + gained / 100, "%zu KiB before, %zu full, %zu afterwards",
              resident_before / KILOBYTE, full / KILOBYTE, empty / KILOBYTE);
    CHECK_SAY(HEAVY || report.rss_change_bytes <= -(int64_t)(gained / 100 * 98),
              "the report says that %lld bytes are gone of %zu", (long long)report.rss_change_bytes, gained);
    CHECK_SAY(report.reclaimed_bytes >= (uint64_t)BIG / 100 * 99, "%llu bytes were reclaimed",
              (unsigned long long)report.reclaimed_bytes);
    /* In few, large ranges: at least a MiB on average. */
    const uint64_t calls = after.purge_calls - before.purge_calls;
    CHECK(after.purged_bytes - before.purged_bytes >= report.reclaimed_bytes);
    CHECK_SAY(calls >= 1 && calls <= BIG / MEGABYTE, "%llu calls gave %llu bytes back", (unsigned long long)calls,
              (unsigned long long)report.reclaimed_bytes);
    CHECK(after.dirty_bytes == 0 && after.large_bytes == 0);
}

/* A few chunks wait for the next epochs of the thread, but not where memory is to go back. */
CASE(reclaim_leaves_no_chunk_warm)
{
    enum { MANY = 100 };
    tslab_epoch epochs[MANY];
    for (size_t i = 0; i < MANY; i++) {
        epochs[i] = opened_as(NULL, TSLAB_POLICY_RELEASE);
        (void)filled(epochs[i], 100, i);
    }
    const size_t each = chunk_bytes() / MANY;
    CHECK(each > 0);
    for (size_t i = 1; i < MANY; i++) {
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
    }
    CHECK_SAY(chunk_bytes() == (1 + 8) * each, "%zu bytes of chunks", chunk_bytes());
    STATUS(tslab_epoch_close(epochs[0], TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
    CHECK_SAY(chunk_bytes() == 0, "%zu bytes of chunks", chunk_bytes());
}

/* The process is told to keep what is empty. So this is what close itself does. */
static const char keep_what_is_empty[] = "TSLAB_OPTIONS=retain_bytes=1T,purge_delay_ms=3600000";

CASE_WITH(keep_what_is_empty, reclaim_gives_back_a_drained_epoch)
{
    tslab_free(tslab_malloc(1));
    memset(big, 0, sizeof big);
    memset(big_sizes, 0, sizeof big_sizes);
    const size_t before = resident_kib() * KILOBYTE;
    const tslab_epoch epoch = opened();
    enter(epoch);
    const size_t count = fill_up(epoch, BIG);
    const size_t full = resident_kib() * KILOBYTE;
    for (size_t i = 0; i < count; i++) {
        verify_and_free(big[i], big_sizes[i], i);
    }
    leave(epoch);
    CHECK_SAY(EPOCH_SANITIZED || resident_kib() * KILOBYTE >= full - (size_t)4 * MEGABYTE,
              "nobody asked for it, but of %zu KiB %zu are left", full / KILOBYTE, resident_kib());
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
    const size_t empty = resident_kib() * KILOBYTE;
    CHECK_SAY(HEAVY || empty <= before + (full - before) / 100, "%zu KiB before, %zu full, %zu afterwards",
              before / KILOBYTE, full / KILOBYTE, empty / KILOBYTE);
    CHECK(resident_pages(count) * 100 <= count);
    CHECK(process_stats().dirty_bytes == 0);
    check_gone(epoch);
}

/* Without TSLAB_CLOSE_RECLAIM, nothing is purged by close when the process is told to keep. */
CASE_WITH(keep_what_is_empty, close_recycles_and_leaves_reclaiming_to_the_policy)
{
    tslab_free(tslab_malloc(1));
    const tslab_epoch epoch = opened_as("kept", TSLAB_POLICY_RELEASE);
    (void)fill_up(epoch, BIG / 4);
    const struct total_figures before = process_stats();
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, 0, &report), TSLAB_OK);
    const struct total_figures after = process_stats();
    CHECK(after.purged_bytes == before.purged_bytes && after.purge_calls == before.purge_calls);
    CHECK(report.reclaimed_bytes == 0 && report.recycled_bytes >= BIG / 4);
    /* All of it serves the next one, and not a page is asked for. */
    const size_t resident = resident_kib();
    const tslab_epoch next = opened_as("next", TSLAB_POLICY_RELEASE);
    (void)fill_up(next, BIG / 4);
    CHECK_SAY(EPOCH_SANITIZED || resident_kib() <= resident + KILOBYTE, "from %zu to %zu KiB", resident,
              resident_kib());
    STATUS(tslab_epoch_close(next, 0, NULL), TSLAB_OK);
}
