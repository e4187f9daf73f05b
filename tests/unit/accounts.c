/* The accounts of memory. Every scenario is a process of its own, and moves bytes from one account to another: after
 * each step the law holds, and the bytes are where they should be. */
#include "child.h"

#include "audit/accounts.h"
#include "common/metadata.h"
#include "common/option.h"
#include "malloc/current_thread.h"
#include "os/os.h"
#include "report/statistics.h"
#include "space/depot.h"
#include "space/trap.h"
#include "thread/heap.h"

#include <pthread.h>
#include <tslab/tslab.h>

/* Whether the law has to hold at once: it does while nothing runs. */
static struct accounts now(void)
{
    struct accounts accounts;
    const struct accounts_gap gap = accounts_take(&accounts, RESIDENT_UNTOLD);
    uint64_t sum = 0, untouched = 0;
    CHECK_SAY(gap.runs == 0, "%lld bytes of runs in use are in no account", (long long)gap.runs);
    CHECK_SAY(gap.slots == 0, "%lld bytes of cached slots are in no slab", (long long)gap.slots);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        const struct account *const account = account_of(&accounts, i);
        CHECK_SAY(account->untouched_bytes <= account->bytes, "%s", account_names[i]);
        sum += account->bytes;
        untouched += account->untouched_bytes;
    }
    CHECK_SAY(sum == accounts.committed_bytes, "the accounts are %llu bytes, and %llu are committed",
              (unsigned long long)sum, (unsigned long long)accounts.committed_bytes);
    CHECK(untouched == accounts.untouched_bytes);
    return accounts;
}

#define IS(accounts, name, wanted)                                                                                     \
    CHECK_SAY((accounts).name.bytes == (uint64_t)(wanted), "%s has %llu bytes, not %llu", #name,                       \
              (unsigned long long)(accounts).name.bytes, (unsigned long long)(wanted))
#define HAS(accounts, name)    CHECK_SAY((accounts).name.bytes != 0, "%s is empty", #name)
#define HAS_NO(accounts, name) IS(accounts, name, 0)

enum { MANY = 20000 };
static void *objects[MANY];

static void allocate(size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        objects[i] = tslab_malloc(size);
        CHECK(objects[i] != NULL);
    }
}

static void release(size_t n, size_t step)
{
    for (size_t i = 0; i < n; i += step) {
        tslab_free(objects[i]);
    }
}

static size_t slot_size(size_t size)
{
    return class_geometry[class_of_size(size)].size;
}

/* The bytes of an object in a slab. */
static size_t one(size_t size)
{
    void *const p = tslab_malloc(size);
    const size_t bytes = tslab_usable_size(p);
    CHECK(bytes <= slot_size(size + 32));
    tslab_free(p);
    return slot_size(bytes + (TSLAB_CHECKED > 1 ? 16 : 0));
}

IN_A_CHILD(beginning)
{
    CHECK(tslab_epoch_open(NULL).id != 0); /* has a record, and no memory yet */
    struct accounts accounts = now();
    HAS(accounts, unopened_units);
    HAS(accounts, tag_table);
    HAS(accounts, run_table);
    HAS(accounts, revisit_table);
    HAS(accounts, code_table);
    HAS(accounts, thread_records);
    HAS(accounts, epoch_records);
    HAS(accounts, unused_records);
    HAS_NO(accounts, clean_runs);
    CHECK((accounts.check_table.bytes != 0) == (TSLAB_CHECKED != 0));
    keep(tslab_malloc(100));
    accounts = now();
    HAS_NO(accounts, unopened_units);
    HAS(accounts, clean_runs);
}

IN_A_CHILD(slots)
{
    const size_t size = one(100);
    const struct accounts before = now();
    HAS(before, claimed); /* one object was taken from a word */
    HAS(before, attached_slabs);
    allocate(MANY, 100);
    struct accounts accounts = now();
    IS(accounts, live_slots, before.live_slots.bytes + MANY * size);
    HAS(accounts, slab_tails);
    release(MANY, 2);
    accounts = now();
    IS(accounts, live_slots, before.live_slots.bytes + MANY / 2 * size);
    HAS(accounts, magazines);
    HAS(accounts, partial_slabs);
    HAS(accounts, tray_records);
    (void)tslab_trim();
    accounts = now();
    IS(accounts, live_slots, before.live_slots.bytes + MANY / 2 * size);
    HAS_NO(accounts, magazines);
    HAS_NO(accounts, claimed);
    HAS_NO(accounts, attached_slabs);
    HAS(accounts, partial_slabs);
    for (size_t i = 1; i < MANY; i += 2) {
        tslab_free(objects[i]);
    }
    (void)tslab_trim();
    accounts = now();
    IS(accounts, live_slots, before.live_slots.bytes);
    HAS_NO(accounts, dirty_runs);
}

/* Another thread, which rests when it has done something. */

static pthread_barrier_t barrier;
static size_t number_of_others, size_of_others;

static void meet(void)
{
    const int met = pthread_barrier_wait(&barrier);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void *free_of_others(void *unused)
{
    release(number_of_others, 1);
    meet();
    meet();
    return unused;
}

static struct accounts when_another_has_freed(size_t number, size_t size)
{
    size_of_others = size;
    number_of_others = number;
    allocate(number, size);
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    const pthread_t thread = thread_begin(free_of_others, NULL);
    meet();
    const struct accounts accounts = now();
    struct tslab_stats stats;
    CHECK(tslab_stats_get(&stats) == TSLAB_OK && stats.live_bytes == accounts.live_slots.bytes);
    meet();
    (void)thread_end(thread);
    return accounts;
}

IN_A_CHILD(others)
{
    struct accounts accounts = now();
    const uint64_t before = accounts.live_slots.bytes;
    accounts = when_another_has_freed(MANY, 40);
    HAS(accounts, outboxes);
    CHECK(accounts.live_slots.bytes - before < 4096); /* what the other thread itself has */
    accounts = when_another_has_freed(500, 256);
    HAS(accounts, exchange);
    accounts = now();
    (void)tslab_trim();
    HAS_NO(now(), exchange);
    HAS_NO(now(), outboxes);
}

IN_A_CHILD(large)
{
    enum { BYTES = 300 * 1024 + 1, HUGE_BYTES = (40 << 20) + 1 };
    const size_t page = os_page_bytes();
    keep(tslab_malloc(1));
    char *const p = tslab_malloc(BYTES), *const q = tslab_malloc(HUGE_BYTES);
    struct accounts accounts = now();
    IS(accounts, live_large, tslab_usable_size(p) + tslab_usable_size(q) + (TSLAB_CHECKED > 1 ? 32 : 0));
    HAS(accounts, large_tails);
    CHECK(accounts.live_large.bytes >= round_up(BYTES, page) + round_up(HUGE_BYTES, page));
    tslab_free(p);
    accounts = now();
    if (GUARDED) {
        HAS(accounts, trapped_runs);
    } else {
        HAS(accounts, hot_runs);
        CHECK(accounts.hot_runs.bytes >= BYTES && accounts.hot_runs.bytes < BYTES + UNIT_BYTES);
    }
    tslab_free(q);
    accounts = now();
    HAS_NO(accounts, live_large);
    HAS_NO(accounts, large_tails);
    (void)tslab_trim();
    accounts = now();
    HAS_NO(accounts, hot_runs);
    HAS_NO(accounts, dirty_runs);
}

/* The pages of dirty runs that the system does not take. */
static bool refuse(void *start, size_t bytes)
{
    return false;
}

static bool (*real_purge)(void *start, size_t bytes);
static unsigned looks;

/* A purger has taken the run out: it is in use, and nobody's. */
static bool look_and_purge(void *start, size_t bytes)
{
    const size_t unit = arena_unit(start);
    if (unit < load_plain(&arena.committed_units) && counter_get(&depot.purging_units) != 0) {
        const struct accounts accounts = now();
        CHECK(accounts.moving_runs.bytes >= bytes);
        looks++;
    }
    return real_purge(start, bytes);
}

IN_A_CHILD(empty)
{
    option_values[OPTION_RETAIN_BYTES] = 1 << 30;
    option_values[OPTION_PURGE_DELAY_MS] = 3600 * 1000;
    allocate(MANY, 100);
    release(MANY, 1);
    HAS(now(), dirty_runs);
    real_purge = os_calls.purge;
    os_calls.purge = refuse;
    (void)tslab_trim();
    struct accounts accounts = now();
    HAS(accounts, dirty_runs);
    os_calls.purge = look_and_purge;
    allocate(MANY, 100);
    release(MANY, 1);
    (void)tslab_trim();
    CHECK(looks != 0);
    accounts = now();
    HAS_NO(accounts, dirty_runs);
    HAS_NO(accounts, moving_runs);
}

/* Epochs. */

static void *in_epoch(tslab_epoch epoch, size_t size)
{
    void *const p = tslab_epoch_malloc(epoch, size);
    CHECK(p != NULL);
    return p;
}

IN_A_CHILD(chunks)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    void *const p = in_epoch(epoch, 1000), *const q = in_epoch(epoch, 96);
    const size_t bytes = tslab_usable_size(p) + tslab_usable_size(q) + (TSLAB_CHECKED > 1 ? 32 : 0);
    struct accounts accounts = now();
    const uint64_t warm = accounts.warm_chunks.bytes;
    IS(accounts, live_chunks, bytes);
    IS(accounts, unfilled_chunks, CHUNK_BYTES - bytes);
    HAS_NO(accounts, dead_in_chunks);
    CHECK(accounts.unfilled_chunks.untouched_bytes == round_down(CHUNK_BYTES - bytes, os_page_bytes()));
    tslab_free(p);
    accounts = now();
    HAS(accounts, dead_in_chunks);
    CHECK(accounts.dead_in_chunks.bytes + accounts.live_chunks.bytes == bytes);
    for (size_t i = 0; i < 100; i++) { /* 100 KB: the first chunk is closed */
        objects[i] = in_epoch(epoch, 1000);
    }
    accounts = now();
    CHECK(accounts.live_chunks.bytes > (uint64_t)100 * 1000);
    CHECK((accounts.live_chunks.bytes + accounts.dead_in_chunks.bytes + accounts.unfilled_chunks.bytes) % CHUNK_BYTES ==
          0);
    struct tslab_epoch_stats stats;
    CHECK(tslab_epoch_stats_get(epoch, &stats) == TSLAB_OK);
    CHECK(stats.chunk_bytes == 2 * CHUNK_BYTES && stats.memory_bytes == stats.chunk_bytes && stats.slab_bytes == 0);
    CHECK(stats.live_bytes == accounts.live_chunks.bytes);
    tslab_free(q);
    release(100, 1);
    CHECK(tslab_epoch_leave(epoch) == TSLAB_OK && tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    accounts = now();
    HAS_NO(accounts, live_chunks);
    HAS_NO(accounts, dead_in_chunks);
    HAS_NO(accounts, unfilled_chunks);
    IS(accounts, warm_chunks, warm + CHUNK_BYTES);
    /* It was filled to more than a half before. */
    const uint64_t untouched = accounts.warm_chunks.untouched_bytes;
    CHECK(untouched < CHUNK_BYTES / 2 && (untouched != 0 || os_page_bytes() > UNIT_BYTES));
}

IN_A_CHILD(slabs_of_epochs)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    for (size_t i = 0; i < MANY; i++) {
        objects[i] = in_epoch(epoch, 200);
        if (i == 0) {
            tslab_free(in_epoch(epoch, (size_t)4 * EPOCH_SLABS_FROM_KIB * 1024));
        }
    }
    struct accounts accounts = now();
    HAS(accounts, heap_records);
    HAS(accounts, live_slots);
    struct tslab_epoch_stats stats;
    CHECK(tslab_epoch_stats_get(epoch, &stats) == TSLAB_OK);
    CHECK(stats.slab_bytes != 0 && stats.chunk_bytes != 0 && stats.cached_bytes != 0);
    CHECK(stats.slab_bytes + stats.chunk_bytes + stats.large_bytes == stats.memory_bytes);
    CHECK(stats.live_bytes + stats.cached_bytes <= stats.memory_bytes);
    CHECK(stats.live_bytes <= accounts.live_slots.bytes + accounts.live_chunks.bytes);
    const uint64_t epoch_large = accounts.live_large.bytes;
    keep(in_epoch(epoch, 1 << 20));
    accounts = now();
    CHECK(accounts.live_large.bytes >= epoch_large + (1 << 20));
    CHECK(tslab_epoch_leave(epoch) == TSLAB_OK && tslab_epoch_release(epoch, 0, NULL) == TSLAB_OK);
    accounts = now();
    HAS_NO(accounts, live_large);
    HAS_NO(accounts, live_chunks);
}

IN_A_CHILD(trapped)
{
    const tslab_epoch epoch = tslab_epoch_open(&(struct tslab_epoch_options){ .policy = TSLAB_POLICY_TRAP });
    keep(in_epoch(epoch, 1000));
    HAS_NO(now(), trapped_runs);
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    const struct accounts accounts = now();
    IS(accounts, trapped_runs, CHUNK_BYTES);
    CHECK(accounts.trapped_runs.untouched_bytes == CHUNK_BYTES);
}

/* Classes. */

static struct class_figures class_of(size_t size)
{
    struct class_figures stats;
    stats_class_get(class_of_size(size), &stats);
    CHECK(stats.size == slot_size(size));
    CHECK(stats.slabs_full + stats.slabs_partial + stats.slabs_empty == stats.slabs_net);
    CHECK(stats.slabs_net == stats.slabs_new - stats.slabs_recycled);
    CHECK(stats.live == stats.allocations - stats.frees);
    CHECK(stats.live * stats.size + stats.cached_bytes + stats.free_bytes + stats.tail_bytes == stats.slab_bytes);
    CHECK(stats.pages_free <= stats.pages && stats.pages_kept_1 <= stats.pages_kept_2 &&
          stats.pages_kept_2 <= stats.pages_kept_4 && stats.pages_kept_4 <= stats.pages);
    return stats;
}

IN_A_CHILD(classes)
{
    enum { SIZE = 256, SLABS = 20, SLOTS = UNIT_BYTES / SIZE, PAGE_SLOTS = 4096 / SIZE };
    struct class_figures stats;
    if (TSLAB_CHECKED > 1 || os_page_bytes() != 4096) {
        return; /* objects have seals there */
    }
    allocate(SLABS * SLOTS, SIZE);
    stats = class_of(SIZE);
    CHECK(stats.live == SLABS * SLOTS && stats.slabs_full >= SLABS - 1);
    /* In each slab, page 0 keeps one object, page 1 two, page 2 four, and page 3 all but one. */
    for (size_t i = 0; i < SLABS * SLOTS; i++) {
        const size_t slot = ((uintptr_t)objects[i] % UNIT_BYTES) / SIZE, page = slot / PAGE_SLOTS,
                     at = slot % PAGE_SLOTS;
        const size_t kept[] = { 1, 2, 4, PAGE_SLOTS - 1 };
        if (at >= kept[page]) {
            tslab_free(objects[i]);
        }
    }
    (void)tslab_trim();
    stats = class_of(SIZE);
    CHECK(stats.slabs_net == SLABS && stats.slabs_partial == SLABS && stats.pages == SLABS * 4);
    CHECK(stats.pages_kept_1 == SLABS && stats.pages_kept_2 == 2 * SLABS && stats.pages_kept_4 == 3 * SLABS);
    CHECK(stats.pages_free == 0 && stats.untouched_bytes == 0);
    for (size_t i = 0; i < SLABS * SLOTS; i++) {
        if ((uintptr_t)objects[i] % UNIT_BYTES < 4096 && (uintptr_t)objects[i] % 4096 == 0) {
            tslab_free(objects[i]);
        }
    }
    (void)tslab_trim();
    stats = class_of(SIZE);
    CHECK(stats.pages_free == SLABS && stats.pages_kept_1 == 0 &&
          stats.untouched_bytes >= stats.pages_free * 4096 * 9 / 10);
}

/* The walks wait for no lock that another thread holds. */
IN_A_CHILD(locks)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    keep(in_epoch(epoch, 1000));
    keep(tslab_malloc(100));
    struct thread *const self = current_thread_get();
    CHECK(self != NULL);
    alarm(CHILD_HANG_SECONDS);
    lock_acquire(&registry.lock);
    gate_lock(&self->gate);
    lock_acquire(epoch_lock(epoch_by_value(epoch.id)));
    lock_acquire(&depot.lock);
    (void)now();
    lock_release(&depot.lock);
    lock_release(epoch_lock(epoch_by_value(epoch.id)));
    gate_unlock(&self->gate);
    lock_release(&registry.lock);
    current_thread_put(self);
}
