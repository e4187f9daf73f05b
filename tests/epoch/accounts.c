/* The accounts of memory beside threads that allocate, free, and open, close and hand over epochs. */
#include "epoch.h"
#include "report/statistics.h"

enum { THREADS = 3, STEADY = 2000, STEADY_BYTES = 10000, OBJECTS = 500, LARGE_BYTES = 600 * KILOBYTE };

/* The most that the threads have at once, and so the most in motion: objects, a large one, and epochs' chunks. */
enum { MOTION_BYTES = THREADS * 16 * MEGABYTE };

static atomic_bool over;

static void *churn(void *argument)
{
    static _Thread_local void *objects[OBJECTS];
    uint64_t random = (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&over)) {
        const tslab_epoch epoch = opened();
        for (size_t i = 0; i < OBJECTS; i++) {
            objects[i] = i % 2 == 0 ? tslab_malloc(16 + below(&random, 3000)) : tslab_epoch_malloc(epoch, 100);
            CHECK(objects[i] != NULL);
        }
        void *const large = tslab_malloc(LARGE_BYTES);
        void *named;
        const tslab_handle handle = tslab_handle_malloc(epoch, 64, &named);
        CHECK(large != NULL && handle.id != 0);
        for (size_t i = 0; i < OBJECTS; i++) {
            tslab_free(objects[i]);
        }
        tslab_free(large);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        if (below(&random, 16) == 0) {
            (void)tslab_trim();
        }
    }
    return NULL;
}

static uint64_t sum_of(const struct accounts *accounts)
{
    uint64_t sum = 0;
    for (const struct account *a = &accounts->live_slots; (const void *)a < (const void *)(accounts + 1); a++) {
        CHECK(a->untouched_bytes <= a->bytes);
        sum += a->bytes;
    }
    return sum;
}

/* When the threads have ended, the accounts add up, as soon as nothing works behind the program's back. */
static void add_up(uint64_t live_bytes)
{
    enum { TRIES = 100, TRY_MICROSECONDS = 10000 };
    struct accounts accounts;
    (void)accounts_take(&accounts);
    for (unsigned i = 0; i < TRIES && accounts.moving_runs.bytes != 0; i++) {
        usleep(TRY_MICROSECONDS);
        (void)accounts_take(&accounts);
    }
    CHECK(sum_of(&accounts) == accounts.committed_bytes && accounts.moving_runs.bytes == 0);
    CHECK(accounts.live_slots.bytes == live_bytes);
}

static void look(uint64_t steady_bytes)
{
    struct accounts accounts;
    (void)accounts_take(&accounts);
    const uint64_t sum = sum_of(&accounts), committed = accounts.committed_bytes;
    CHECK_SAY((sum > committed ? sum - committed : committed - sum) <= MOTION_BYTES,
              "the accounts are %llu bytes, and %llu are committed", (unsigned long long)sum,
              (unsigned long long)committed);
    CHECK_SAY(accounts.moving_runs.bytes <= MOTION_BYTES, "%llu bytes are in motion",
              (unsigned long long)accounts.moving_runs.bytes);
    const uint64_t live = accounts.live_slots.bytes;
    CHECK_SAY(live + MOTION_BYTES >= steady_bytes && live <= steady_bytes + MOTION_BYTES, "%llu bytes live, not %llu",
              (unsigned long long)live, (unsigned long long)steady_bytes);
    uint64_t bytes = 0;
    for (unsigned i = 1; i < CLASS_LIMIT; i++) {
        struct class_figures class;
        stats_class_get(i, &class);
        CHECK(class.slabs_full + class.slabs_partial + class.slabs_empty == class.slabs_net);
        CHECK(class.live * class.size + class.free_bytes + class.tail_bytes <= class.slab_bytes);
        bytes += class.slab_bytes;
    }
    CHECK(bytes + MOTION_BYTES >= steady_bytes && bytes <= committed + MOTION_BYTES);
}

CASE(they_add_up_beside_threads)
{
    static void *steady[STEADY];
    pthread_t threads[THREADS];
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    uint64_t bytes = 0;
    CHECK(null >= 0);
    for (size_t i = 0; i < STEADY; i++) {
        steady[i] = tslab_malloc(STEADY_BYTES);
        bytes += tslab_usable_size(steady[i]);
    }
    threads_begin(threads, THREADS, churn, (void *)1, 1);
    for (size_t i = 0; i < 20 + times(400); i++) {
        look(bytes);
        if (i % 10 == 0) {
            tslab_stats_json(null);
            tslab_stats_print(null);
        }
    }
    atomic_store(&over, true);
    threads_end(threads, THREADS);
    struct tslab_stats stats;
    STATUS(tslab_stats_get(&stats), TSLAB_OK);
    add_up(stats.live_bytes);
    for (size_t i = 0; i < STEADY; i++) {
        tslab_free(steady[i]);
    }
    add_up(0);
}
