/* Epochs by the million: one after another, the process grows no further than in the first few thousand. */
#include "epoch.h"

enum { WARM_SHARE = 20 };

/* The growth of the process that is allowed after its start: for tables that grow in steps, and what a sanitizer
 * keeps. */
enum { GROWTH = 768 * KILOBYTE };

static size_t metadata_bytes(void)
{
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    return stats.metadata_bytes;
}

/* Runs a life many times, and compares what the process weighs after the first few with the weight at the end. */
static void stays_flat(void (*life)(size_t), size_t count)
{
    size_t resident = 0, metadata = 0;
    for (size_t i = 0; i < count; i++) {
        life(i);
        if (i == count / WARM_SHARE) {
            resident = resident_kib() * KILOBYTE;
            metadata = metadata_bytes();
        }
    }
    const size_t metadata_after = metadata_bytes(), resident_after = resident_kib() * KILOBYTE;
    CHECK_SAY(metadata_after <= metadata + 64 * KILOBYTE, "the metadata grew from %zu to %zu", metadata,
              metadata_after);
    CHECK_SAY(HEAVY || resident_after <= resident + GROWTH, "from %zu KiB to %zu KiB", resident / KILOBYTE,
              resident_after / KILOBYTE);
}

static void live_empty(size_t i)
{
    (void)i;
    STATUS(tslab_epoch_close(opened(), 0, NULL), TSLAB_OK);
}

CASE(empty_ones)
{
    stays_flat(live_empty, times(1000000));
}

static void live_inside(size_t i)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    void *objects[6];
    for (size_t n = 0; n < COUNT_OF(objects); n++) {
        objects[n] = tslab_malloc(16 + (i * 7 + n * 131) % 1000);
        memset(objects[n], 1, 16);
    }
    for (size_t n = 0; n < COUNT_OF(objects); n++) {
        tslab_free(objects[n]);
    }
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

CASE(with_objects_that_are_freed)
{
    stays_flat(live_inside, times(1000000));
}

static void live_and_die(size_t i)
{
    const tslab_epoch epoch = opened_as("release", i % 2 == 0 ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN);
    for (size_t n = 0; n < 6; n++) {
        memset(tslab_epoch_malloc(epoch, 16 + (i * 7 + n * 131) % 1000), 1, 16);
    }
    if (i % 64 == 0) {
        memset(tslab_epoch_malloc(epoch, 50000), 1, 50000);
    }
    STATUS(i % 2 == 0 ? tslab_epoch_close(epoch, 0, NULL) : tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
}

CASE(with_objects_that_are_never_freed)
{
    stays_flat(live_and_die, times(1000000));
}

static void live_with_handles(size_t i)
{
    const tslab_epoch epoch = opened_as(NULL, TSLAB_POLICY_RELEASE);
    const tslab_handle handle = tslab_handle_malloc(epoch, 100, NULL);
    (void)tslab_handle_malloc(epoch, i % 2000, NULL);
    STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

CASE(with_handles)
{
    stays_flat(live_with_handles, times(200000));
}

static void live_trapped(size_t i)
{
    const tslab_epoch epoch = opened_as("trap", TSLAB_POLICY_TRAP);
    for (size_t n = 0; n < 10; n++) {
        memset(tslab_epoch_malloc(epoch, 100 + i % 3000), 1, 100);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

CASE(trapped_ones)
{
    /* So many that the first trapped runs have served again by the time that is compared with. */
    stays_flat(live_trapped, HEAVY ? 120000 : 300000);
}

enum { WINDOW = 200, KEPT = 5 };
static struct {
    tslab_epoch epoch;
    void *survivors[KEPT];
} overlapping[WINDOW];

static void live_among_others(size_t i)
{
    const size_t at = (i * 7) % WINDOW;
    if (overlapping[at].epoch.id != 0) {
        const bool close_first = i / WINDOW % 2 == 0;
        if (close_first) {
            STATUS(tslab_epoch_close(overlapping[at].epoch, 0, NULL), TSLAB_OK);
        }
        for (size_t n = 0; n < KEPT; n++) {
            verify_and_free(overlapping[at].survivors[n], 100 * n + 10, n);
        }
        if (!close_first) {
            STATUS(tslab_epoch_close(overlapping[at].epoch, 0, NULL), TSLAB_OK);
        }
    }
    overlapping[at].epoch = opened();
    for (size_t n = 0; n < KEPT; n++) {
        overlapping[at].survivors[n] = filled(overlapping[at].epoch, 100 * n + 10, n);
    }
}

CASE(that_overlap)
{
    stays_flat(live_among_others, times(400000));
}

/* The weight of an open request beside the bytes that it asked for. */
CASE(open_ones_are_small)
{
    enum { REQUESTS = 1000, OBJECTS = 225 };
    static tslab_epoch epochs[REQUESTS];
    uint64_t random = 17;
    tslab_free(tslab_malloc(1));
    const size_t before = resident_kib();
    size_t asked = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
        epochs[i] = opened_as(NULL, TSLAB_POLICY_RELEASE);
        for (size_t n = 0; n < OBJECTS; n++) {
            const size_t size = 16 + below(&random, 433);
            memset(tslab_epoch_malloc(epochs[i], size), 1, size);
            asked += size;
        }
    }
    const size_t grown = (resident_kib() - before) * KILOBYTE;
    /* The figure to reach is 1.15; here is room for what a test program needs itself. */
    CHECK_SAY(EPOCH_SANITIZED || grown * 100 <= asked * 125, "%zu bytes are resident for %zu", grown, asked);
    for (size_t i = 0; i < REQUESTS; i++) {
        STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
    }
}
