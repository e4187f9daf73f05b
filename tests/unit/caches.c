/* The caches of threads: when they help, how much they may hold, and when they give back. Every scenario is a process
 * of its own, so that the counters start at zero. */
#include "child.h"

#include "common/option.h"
#include "common/size_class.h"
#include "malloc/current_thread.h"
#include "os/os.h"
#include "report/statistics.h"
#include "space/reclaim.h"
#include "thread/cache_budget.h"
#include "thread/exchange.h"
#include "thread/flush.h"
#include "thread/resting.h"

#include <pthread.h>
#include <sys/mman.h>
#include <tslab/tslab.h>

enum { BULK = 200000, NEAR = 100, WINDOW = 256 };

/* The most that a magazine or an outbox of one class may hold: bytes, or so many slots up to more bytes. */
enum { MAGAZINE_BYTES = 32 * 1024, MAGAZINE_SLOTS = 64, MAGAZINE_BYTES_MOST = 260 * 1024 };

/* The weight of the trays of magazines and outboxes. Elsewhere a place of a tray takes 8 bytes, and its slot at least
 * 16. */
enum { TRAY_BYTES_MOST = 1024 * 1024 };

struct counts {
    uint64_t allocs, frees, refills, misses, flushes, flushed, exchanged, remote_frees, cached;
};

/* The counters of the calling thread for the class of a size, as of now. */
static struct counts counts_of(size_t size)
{
    struct class_sums sums = { 0 };
    heap_add(front_current->heap, class_of_size(size), &sums);
    CHECK(sums.bypassed == 0);
    return (struct counts){
        .allocs = sums.allocations,
        .frees = sums.frees,
        .refills = sums.refills,
        .misses = sums.refilled,
        .flushes = sums.flushes,
        .flushed = sums.flushed,
        .exchanged = sums.exchanged,
        .remote_frees = sums.remote_frees,
        .cached = sums.cached,
    };
}

/* The share of allocations between two moments that were served by earlier frees, in thousandths. */
static uint64_t hits_per_mille(struct counts before, struct counts after)
{
    const uint64_t allocs = after.allocs - before.allocs;
    const uint64_t misses = after.misses - before.misses;
    return misses >= allocs ? 0 : (allocs - misses) * 1000 / allocs;
}

static size_t magazine_bytes(size_t size)
{
    return max_size(MAGAZINE_BYTES, min_size(MAGAZINE_SLOTS * size, MAGAZINE_BYTES_MOST));
}

static void cached_is_bounded(void)
{
    const struct heap *const heap = front_current->heap;
    static size_t used_most;
    size_t exchanged = 0;
    used_most = max_size(used_most, counter_get(&depot.units[RUN_USED]) << UNIT_SHIFT);
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        const size_t size = class_geometry[class].size;
        const size_t outbox = counter_get(&heap_class_of(heap, class)->outbox_slots) * size;
        CHECK_SAY(outbox <= magazine_bytes(size), "%zu bytes of class %zu are in the outbox", outbox, size);
        /* Magazine, kept tray, outbox, and claimed word. */
        const size_t bytes = heap_cached(heap, class) * size;
        CHECK_SAY(bytes <= 3 * magazine_bytes(size) + WORD_SLOTS * size, "%zu bytes of class %zu are cached", bytes,
                  size);
        exchanged += exchange_slots(class) * size;
    }
    CHECK_SAY(exchanged <= used_most, "%zu bytes are in the exchange, %zu were in use", exchanged, used_most);
    CHECK_SAY(counter_get(&tray_bytes) <= TRAY_BYTES_MOST + used_most / 2, "%zu bytes of trays",
              (size_t)counter_get(&tray_bytes));
}

static void counters_add_up(size_t live)
{
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.allocations - stats.frees == live);
    CHECK(stats.live_objects == live);
}

/* Memory that is purged and wanted back at once teaches the engine to keep more, and then less is gone round. Memory
 * that is never purged teaches nothing. */
static void learn_nothing(void)
{
    option_values[OPTION_RETAIN_BYTES] = TIB;
    option_values[OPTION_PURGE_DELAY_MS] = 3600 * 1000;
}

static void *objects[BULK];

static void bulk_in(size_t size)
{
    for (size_t i = 0; i < BULK; i++) {
        objects[i] = tslab_malloc(size);
        CHECK(objects[i] != NULL);
        if (i % 5000 == 0) {
            cached_is_bounded();
        }
    }
    counters_add_up(BULK);
}

static void bulk_out(size_t keep_first)
{
    for (size_t i = keep_first; i < BULK; i++) {
        tslab_free(objects[i]);
        if (i % 5000 == 0) {
            cached_is_bounded();
        }
    }
    counters_add_up(keep_first);
}

/* Replaces random ones of the first NEAR objects. */
static void replace(size_t size, size_t times, uint64_t *random)
{
    for (size_t i = 0; i < times; i++) {
        const size_t at = random_next(random) % NEAR;
        tslab_free(objects[at]);
        objects[at] = tslab_malloc(size);
        CHECK(objects[at] != NULL);
    }
}

static const size_t sizes[] = { 16, 64, 80, 256 };

/* Slots come from slabs and go back to them by the dozen, and none by itself. A thread that takes again and again what
 * it has freed keeps it. */
IN_CHILDREN(bulk_traffic_goes_in_batches, sizes)
{
    enum { BATCH = 12, ROUNDS = 12 };
    const size_t size = *(const size_t *)argument;
    uint64_t flushed = BULK;
    learn_nothing();
    tslab_free(tslab_malloc(1));
    for (int round = 0; round < ROUNDS && flushed > BULK / 8; round++) {
        const struct counts before = counts_of(size);
        bulk_in(size);
        const struct counts full = counts_of(size);
        bulk_out(0);
        const struct counts after = counts_of(size);
        CHECK(full.allocs - before.allocs == BULK && after.frees - full.frees == BULK);
        const uint64_t refills = full.refills - before.refills, flushes = after.flushes - full.flushes;
        flushed = after.flushed - full.flushed;
        CHECK_SAY(refills < BULK / BATCH, "round %d: %zu refills for %d allocations", round, (size_t)refills, BULK);
        CHECK_SAY(round > 1 || flushed > BULK / 2, "round %d: %zu of %d frees flushed", round, (size_t)flushed, BULK);
        CHECK_SAY(flushes <= flushed / BATCH, "round %d: %zu flushes for %zu slots", round, (size_t)flushes,
                  (size_t)flushed);
    }
    CHECK_SAY(flushed <= BULK / 8, "%zu of %d frees are flushed in every round", (size_t)flushed, BULK);
}

static const size_t all_sizes[] = { 1, 16, 48, 64, 128, 1000, 2048, 8192, 20000, 32768 };

IN_CHILDREN(local_traffic_hits_the_magazines, all_sizes)
{
    const size_t size = *(const size_t *)argument;
    uint64_t random = 5;
    for (size_t i = 0; i < NEAR; i++) {
        objects[i] = tslab_malloc(size);
    }
    const struct counts before = counts_of(size);
    replace(size, 50000, &random);
    const struct counts after = counts_of(size);
    CHECK(after.allocs - before.allocs == 50000);
    CHECK_SAY(hits_per_mille(before, after) > 980, "%zu thousandths of hits", (size_t)hits_per_mille(before, after));
    cached_is_bounded();
    counters_add_up(NEAR);
}

struct change {
    size_t size;
    bool amid;  /* bulk traffic stops when all is in, not when all is out */
    bool waves; /* local traffic frees ten and allocates ten, not one by one */
};

static void replace_in_waves(size_t size, size_t times, uint64_t *random)
{
    enum { WAVE = 10 };
    for (size_t i = 0; i < times; i += WAVE) {
        const size_t at = random_next(random) % (NEAR - WAVE);
        for (size_t k = 0; k < WAVE; k++) {
            tslab_free(objects[at + k]);
        }
        for (size_t k = 0; k < WAVE; k++) {
            objects[at + k] = tslab_malloc(size);
        }
    }
}

static void change_of_traffic(const void *argument)
{
    const struct change *change = argument;
    void (*const local)(size_t, size_t, uint64_t *) = change->waves ? replace_in_waves : replace;
    uint64_t random = 6;
    learn_nothing();
    for (int round = 0; round < 3; round++) {
        bulk_in(change->size);
        if (round < 2 || !change->amid) {
            bulk_out(round < 2 ? 0 : NEAR);
        }
    }
    const size_t live = change->amid ? BULK : NEAR;
    /* A window to find its new measure; then it has. */
    local(change->size, WINDOW, &random);
    const struct counts before = counts_of(change->size);
    local(change->size, 4 * WINDOW, &random);
    const struct counts after = counts_of(change->size);
    CHECK_SAY(hits_per_mille(before, after) > 980, "%zu thousandths of hits", (size_t)hits_per_mille(before, after));
    CHECK_SAY((after.flushed - before.flushed) * 50 < 4 * WINDOW, "%zu frees flushed",
              (size_t)(after.flushed - before.flushed));
    counters_add_up(live);
}

TEST(magazines_help_at_once_after_bulk)
{
    static const size_t two_sizes[] = { 64, 80 };
    for (size_t i = 0; i < COUNT_OF(two_sizes); i++) {
        for (int how = 0; how < 4; how++) {
            const struct change change = { two_sizes[i], how % 2 == 1, how / 2 == 1 };
            child_succeeds(change_of_traffic, &change, "");
        }
    }
}

static pthread_key_t late_key;

/* ThreadSanitizer ends the thread for itself in the last round of destructors. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZER_ROUNDS 1
#endif
#endif
#ifndef SANITIZER_ROUNDS
#define SANITIZER_ROUNDS 0
#endif
enum { LATE_ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - SANITIZER_ROUNDS };

/* Runs in every round of destructors, and so also when the library's own is through. */
static void free_late(void *value)
{
    void **const chain = value;
    void *const next = *chain;
    tslab_free(chain);
    tslab_free(tslab_malloc(100));
    (void)pthread_setspecific(late_key, next);
}

static void *fill_caches_and_exit(void *argument)
{
    void **chain = NULL;
    for (int i = 0; i < LATE_ROUNDS; i++) {
        void **const link = tslab_malloc(64 + (size_t)i * 16);
        *link = chain;
        chain = link;
    }
    CHECK(pthread_setspecific(late_key, chain) == 0);
    uint64_t random = 8;
    for (int i = 0; i < 20000; i++) {
        tslab_free(keep(tslab_malloc(random_next(&random) % 2000)));
    }
    return NULL;
}

IN_A_CHILD(an_exit_empties_the_caches)
{
    CHECK(pthread_key_create(&late_key, free_late) == 0);
    for (int i = 0; i < 20; i++) {
        in_a_thread(fill_caches_and_exit, NULL);
        (void)tslab_trim(); /* the heap rests until then */
        struct total_figures stats;
        stats_totals(&stats);
        CHECK_SAY(stats.cached_bytes == 0, "%zu bytes are cached by a thread that is gone", stats.cached_bytes);
        CHECK_SAY(stats.live_objects == 0, "%zu objects of a thread that is gone live", stats.live_objects);
        CHECK(stats.slabs_opened == stats.slabs_recycled);
        CHECK(stats.thread_records <= 3); /* one rests while late destructors borrow another */
    }
}

static void *allocate_and_free(void *argument)
{
    void *const p = keep(tslab_malloc(100));
    tslab_free(p);
    return p;
}

IN_A_CHILD(a_heap_rests_between_two_threads)
{
    void *places[2];
    for (int i = 0; i < 2; i++) {
        places[i] = in_a_thread(allocate_and_free, NULL);
    }
    CHECK(places[0] == places[1] && resting_look(0));
    CHECK(!resting_tick(os_now_ms() + 2000) && !resting_look(0));
}

/* Two threads that wait for each other, so that each has a heap of its own. */
struct pair_of_threads {
    pthread_barrier_t turn;
    struct heap *heaps[2];
};

static void *allocate_beside_another(void *argument)
{
    struct pair_of_threads *const pair = argument;
    tslab_free(keep(tslab_malloc(100)));
    pair->heaps[pthread_barrier_wait(&pair->turn) == PTHREAD_BARRIER_SERIAL_THREAD] = front_current->heap;
    return NULL;
}

static void *tell_heap(void *argument)
{
    tslab_free(keep(tslab_malloc(100)));
    *(struct heap **)argument = front_current->heap;
    return NULL;
}

/* The heap that somebody empties is passed over, and another one is taken. */
IN_A_CHILD(a_heap_that_is_emptied_is_passed_over)
{
    struct pair_of_threads pair;
    CHECK(pthread_barrier_init(&pair.turn, NULL, 2) == 0);
    in_threads(2, allocate_beside_another, &pair, 0);
    for (int i = 0; i < 2; i++) {
        struct heap *taken;
        lock_acquire(&pair.heaps[i]->gate->lock);
        in_a_thread(tell_heap, &taken);
        lock_release(&pair.heaps[i]->gate->lock);
        CHECK(taken == pair.heaps[1 - i]);
    }
}

static void *allocate_and_leave(void *argument)
{
    void **const left = argument;
    void *const gone = tslab_malloc(48);
    *left = tslab_malloc(48);
    tslab_free(gone);
    return NULL;
}

/* Two threads must not come to share a cache line, so slots of such a class stay with the thread that its slab is home
 * to; when that is gone, with the next. */
IN_A_CHILD(a_slab_finds_a_new_home)
{
    void *left;
    pthread_t thread;
    tslab_free(keep(tslab_malloc(1)));
    thread = thread_begin(allocate_and_leave, &left);
    (void)thread_end(thread);
    const uint32_t theirs = load_plain(&arena.units[arena_unit(left)].tag);
    (void)tslab_trim(); /* its heap rests until then */
    void *const p = tslab_malloc(48);
    CHECK(arena_unit(p) == arena_unit(left)); /* the slab is used before a new one */
    const uint32_t ours = load_plain(&arena.units[arena_unit(p)].tag);
    CHECK(ours != theirs && ours == front_current->magazine[class_of_size(48)].tag);
    tslab_free(left);
    tslab_free(p);
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.live_objects == 0 && stats.remote_frees == 0);
}

/* A thread that frees what others allocate. */

enum { OTHERS_MOST = 20000 };

struct exchange_of_work {
    pthread_barrier_t turn;
    void **given;
    size_t count;
    size_t size;
    struct counts counts; /* of the thread that frees, when it has freed all */
};

static void await_turn(struct exchange_of_work *work)
{
    (void)pthread_barrier_wait(&work->turn);
}

static void *free_what_is_given(void *argument)
{
    struct exchange_of_work *const work = argument;
    tslab_free(keep(tslab_malloc(1)));
    for (await_turn(work); work->count != 0; await_turn(work)) {
        for (size_t i = 0; i < work->count; i++) {
            tslab_free(work->given[i]);
        }
        cached_is_bounded();
        work->counts = counts_of(work->size);
        await_turn(work);
    }
    return NULL;
}

/* The other thread frees what is in objects[], and waits for more. */
static void let_free(struct exchange_of_work *work, size_t count)
{
    work->count = count;
    await_turn(work);
    if (count != 0) {
        await_turn(work);
    }
}

static pthread_t begin_work(struct exchange_of_work *work, size_t size)
{
    pthread_t thread;
    *work = (struct exchange_of_work){ .given = objects, .size = size };
    CHECK(pthread_barrier_init(&work->turn, NULL, 2) == 0);
    tslab_free(keep(tslab_malloc(1)));
    thread = thread_begin(free_what_is_given, work);
    return thread;
}

static void end_work(struct exchange_of_work *work, pthread_t thread)
{
    let_free(work, 0);
    (void)thread_end(thread);
    CHECK(pthread_barrier_destroy(&work->turn) == 0);
}

static void allocate(size_t size, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        objects[i] = tslab_malloc(size);
        CHECK(objects[i] != NULL);
        pattern_fill(objects[i], size, i);
    }
}

static size_t slab_bytes(void)
{
    struct total_figures stats;
    stats_totals(&stats);
    return stats.slab_bytes;
}

/* Slots of 48 bytes share lines, so the thread that frees them may not keep them. */
IN_A_CHILD(remote_frees_come_back)
{
    enum { SIZE = 48, EACH_TURN = 5000, TURNS = 20, BATCH = 12 };
    struct exchange_of_work work;
    learn_nothing();
    const pthread_t thread = begin_work(&work, SIZE);
    allocate(SIZE, EACH_TURN);
    const size_t first = slab_bytes();
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        let_free(&work, EACH_TURN);
        const struct counts counts = work.counts;
        CHECK(counts.remote_frees == turn * EACH_TURN);
        /* Only the slots in the outbox have not come back. */
        CHECK(counts.flushed + counts.cached == counts.remote_frees);
        CHECK_SAY(counts.flushes < counts.flushed / BATCH, "%zu flushes for %zu slots", (size_t)counts.flushes,
                  (size_t)counts.flushed);
        counters_add_up(0);
        if (turn < TURNS) { /* they serve again, but for those that wait in the outbox */
            allocate(SIZE, EACH_TURN);
            CHECK_SAY(slab_bytes() < 2 * first, "%zu bytes of slabs, where %zu sufficed", slab_bytes(), first);
        }
    }
    end_work(&work, thread);
    (void)tslab_trim();
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.cached_bytes == 0 && stats.slabs_opened == stats.slabs_recycled);
}

/* Time passes with every look at the clock. */
static uint64_t hasty_clock(void)
{
    static uint64_t now_ms;
    return now_ms += 50;
}

/* Many slow operations of another class. */
static void work_elsewhere(void)
{
    static void *others[OTHERS_MOST];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < OTHERS_MOST; i++) {
            others[i] = keep(tslab_malloc(128));
        }
        for (size_t i = 0; i < OTHERS_MOST; i++) {
            tslab_free(others[i]);
        }
    }
}

static const size_t two_sizes_of_producer_and_consumer[] = { 64, 4096 };

/* This thread allocates, the other frees. */
IN_CHILDREN(producer_and_consumer, two_sizes_of_producer_and_consumer)
{
    enum { TURNS = 100, TURN_BYTES = 512 * 1024 };
    const size_t size = *(const size_t *)argument, each_turn = min_size(2000, TURN_BYTES / size);
    struct exchange_of_work work;
    learn_nothing();
    const pthread_t thread = begin_work(&work, size);
    for (int turn = 0; turn < TURNS; turn++) {
        allocate(size, each_turn);
        for (size_t i = 0; i < each_turn; i++) {
            CHECK(pattern_holds(objects[i], size, i));
        }
        let_free(&work, each_turn);
        cached_is_bounded();
        counters_add_up(0);
    }
    const struct counts ours = counts_of(size);
    CHECK(ours.allocs == TURNS * each_turn && work.counts.frees == TURNS * each_turn);
    CHECK(work.counts.exchanged > 0 && work.counts.remote_frees == 0);
    /* Most slots are those that the other has freed, and did not go through their slabs. */
    const uint64_t hits = hits_per_mille((struct counts){ 0 }, ours);
    CHECK_SAY(hits > 800, "%zu thousandths come from the exchange", (size_t)hits);
    CHECK_SAY(work.counts.flushed < ours.allocs / 5, "%zu frees flushed", (size_t)work.counts.flushed);
    CHECK(exchange_slots(class_of_size(size)) > 0);
    os_calls.now_ms = hasty_clock;
    work_elsewhere();
    CHECK_SAY(exchange_slots(class_of_size(size)) == 0, "%u slots wait in the exchange idly",
              exchange_slots(class_of_size(size)));
    end_work(&work, thread);
    (void)tslab_trim();
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.cached_bytes == 0 && stats.slabs_opened == stats.slabs_recycled);
}

/* Makers that allocate side by side, and end; what they made stays. */
enum { MAKERS = 4, OF_EACH = 2000 };

static void *make_objects(void *argument)
{
    void **const made = argument;
    for (size_t i = 0; i < OF_EACH; i++) {
        made[i] = tslab_malloc(64);
        CHECK(made[i] != NULL);
    }
    return NULL;
}

static const size_t turns_of_mixed_or_in_rows[] = { 1, MAKERS };

/* This thread frees what others have made: one after another (1), or in turns (MAKERS). */
IN_CHILDREN(mixed_or_in_rows, turns_of_mixed_or_in_rows)
{
    const size_t turns = *(const size_t *)argument;
    learn_nothing();
    tslab_free(keep(tslab_malloc(1)));
    in_threads(MAKERS, make_objects, objects, OF_EACH * sizeof objects[0]);
    struct exchange_of_work work; /* the process has another thread meanwhile */
    const pthread_t thread = begin_work(&work, 64);
    const unsigned class = class_of_size(64);
    void *first[32];
    for (size_t i = 0; i < MAKERS * OF_EACH; i++) {
        void *const p = objects[turns == 1 ? i : i % MAKERS * OF_EACH + i / MAKERS];
        if (i < COUNT_OF(first)) {
            first[i] = p;
        } else if (i == COUNT_OF(first)) {
            CHECK(flush_mixes_slabs(class, first, COUNT_OF(first)) == (turns != 1));
            CHECK(!flush_mixes_slabs(class, first, COUNT_OF(first) - 1)); /* too few to tell */
        }
        tslab_free(p);
    }
    const struct counts counts = counts_of(64);
    CHECK(counts.frees == MAKERS * OF_EACH && counts.remote_frees == 0);
    CHECK(turns == 1 ? counts.exchanged > 0 : counts.exchanged == 0 && counts.flushed > OF_EACH);
    counters_add_up(0);
    end_work(&work, thread);
    (void)tslab_trim();
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.cached_bytes == 0 && stats.slabs_opened == stats.slabs_recycled);
}

IN_A_CHILD(idle_classes_give_back_what_they_cache)
{
    os_calls.now_ms = hasty_clock;
    for (size_t i = 0; i < 5000; i++) {
        objects[i] = tslab_malloc(64);
    }
    for (size_t i = 0; i < 5000; i++) {
        tslab_free(objects[i]);
    }
    CHECK(counts_of(64).cached > 0);
    /* Much traffic elsewhere. */
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < BULK; i++) {
            objects[i] = tslab_malloc(128);
        }
        for (size_t i = 0; i < BULK; i++) {
            tslab_free(objects[i]);
        }
    }
    CHECK_SAY(counts_of(64).cached == 0, "%zu slots are cached idly", (size_t)counts_of(64).cached);
}

/* The first page behind the parts of the classes that the heap uses. NULL: pages are too large for that. */
static char *unused_page(struct heap *heap)
{
    char *const page = (char *)round_up((uintptr_t)&heap->classes[heap_used(heap) + 1], os_page_bytes());
    return page + os_page_bytes() <= (char *)&heap->classes[CLASS_LIMIT] ? page : NULL;
}

/* The laws look at all. */
static bool is_mapped(char *page)
{
    unsigned char is_there;
    if (TSLAB_CHECKED || page == NULL) {
        return false;
    }
    CHECK(mincore(page, 1, &is_there) == 0);
    return (is_there & 1) != 0;
}

static void *use_few_sizes(void *page)
{
    for (size_t size = 1; size <= 65536; size *= 4) {
        tslab_free(keep(tslab_malloc(size)));
    }
    struct heap *const heap = front_current->heap;
    CHECK(heap_uses(heap, class_of_size(65536)) && !heap_uses(heap, class_of_size(300)) && heap_used(heap) <= 12);
    *(char **)page = unused_page(heap);
    CHECK(!is_mapped(unused_page(heap)));
    return NULL;
}

/* Neither the thread's own work, nor reports, nor a look for what is idle, nor its end. */
IN_A_CHILD(what_a_thread_does_not_use_is_not_touched)
{
    char *page = NULL;
    tslab_free(keep(tslab_malloc(1)));
    for (int i = 0; i < 2; i++) { /* the record serves again */
        in_a_thread(use_few_sizes, &page);
        struct total_figures stats;
        stats_totals(&stats);
        tslab_trim();
        CHECK(!is_mapped(page));
    }
}

/* A class that is used little caches little: one object in each of many large classes, and threads that use a few slots
 * of a class. */

static void *use_a_class(void *turn)
{
    tslab_free(keep(tslab_malloc(1000)));
    pthread_barrier_wait(turn); /* all have heaps */
    tslab_free(keep(tslab_malloc(100)));
    CHECK_SAY(counts_of(100).cached == 1, "%zu slots are cached", (size_t)counts_of(100).cached);
    pthread_barrier_wait(turn);
    return NULL;
}

IN_A_CHILD(a_class_that_is_used_little_caches_little)
{
    enum { MANY = 20 };
    for (size_t size = 9000; size <= SMALL_MAX; size += size / 8) {
        void *const object = keep(tslab_malloc(size));
        CHECK_SAY(counts_of(size).cached == 0, "%zu slots of %zu bytes are cached", (size_t)counts_of(size).cached,
                  size);
        tslab_free(object);
    }
    pthread_barrier_t turn;
    CHECK(pthread_barrier_init(&turn, NULL, MANY) == 0);
    in_threads(MANY, use_a_class, &turn, 0);
}

/* Many threads together, each with all sizes, which also free what others have allocated. */

enum { CROWD = 128, OF_A_SIZE = 200 };

static struct crowd {
    pthread_barrier_t *turn;
    void *objects[OF_A_SIZE];
    unsigned number;
} crowd[CROWD];

static void *cache_all_sizes(void *argument)
{
    struct crowd *const own = argument, *const next = &crowd[(own->number + 1) % CROWD];
    for (size_t size = 16; size <= 4096; size *= 2) {
        for (unsigned round = 0; round < 3; round++) {
            for (unsigned i = 0; i < OF_A_SIZE; i++) {
                *(char *)(own->objects[i] = keep(tslab_malloc(size))) = 1;
            }
            pthread_barrier_wait(own->turn);
            for (unsigned i = 0; i < OF_A_SIZE; i++) {
                tslab_free(round == 1 ? next->objects[i] : own->objects[i]);
            }
            pthread_barrier_wait(own->turn);
        }
    }
    for (size_t i = 0; i < 8; i++) {
        tslab_free(keep(tslab_malloc(300000 + i * 60000)));
    }
    pthread_barrier_wait(own->turn); /* all have cached what they may */
    pthread_barrier_wait(own->turn);
    return NULL;
}

static const uint64_t budgets[] = { 4 << 20, 16 << 20 };

IN_CHILDREN(a_budget_is_for_all_threads, budgets)
{
    pthread_t threads[CROWD];
    pthread_barrier_t turn;
    size_t hot = 0;
    option_values[OPTION_CACHE_BYTES] = *(const uint64_t *)argument;
    CHECK(pthread_barrier_init(&turn, NULL, CROWD + 1) == 0);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i].turn = &turn;
        crowd[i].number = i;
        CHECK(pthread_create(&threads[i], NULL, cache_all_sizes, &crowd[i]) == 0);
    }
    struct total_figures stats = { 0 };
    for (unsigned turns = 0; turns < 9 * 3 * 2 + 1; turns++) {
        pthread_barrier_wait(&turn);
    }
    stats_totals(&stats);
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        hot += (size_t)hot_runs_units(&thread->heap.hot) << UNIT_SHIFT;
    }
    CHECK_SAY(stats.cached_bytes + hot <= option_values[OPTION_CACHE_BYTES], "%zu bytes and %zu in hot runs",
              (size_t)stats.cached_bytes, hot);
    pthread_barrier_wait(&turn);
    threads_end(threads, CROWD);
    exchange_tick(true);
    tslab_trim();
    CHECK_SAY(cache_budget_taken() == 0, "%zu bytes are taken at the end", cache_budget_taken());
}

static uint32_t hot_units(void)
{
    return hot_runs_units(&front_current->heap->hot);
}

IN_A_CHILD_IF(TSLAB_CHECKED < 2, grow_beside_hot_runs)
{
    enum { BLOCK = 1 << 20, SIZE = 1000, MANY = (2 << 20) / SIZE };
    static void *grown[MANY];
    tslab_free(keep(tslab_malloc(BLOCK)));
    CHECK(hot_units() != 0);
    for (unsigned i = 0; i < MANY; i++) {
        grown[i] = keep(tslab_malloc(SIZE));
    }
    CHECK_SAY(hot_units() == 0, "%u units are hot in a process that has grown by 2 MiB", hot_units());
    for (unsigned i = 0; i < MANY; i++) {
        tslab_free(grown[i]);
    }
    tslab_free(keep(tslab_malloc(BLOCK)));
    for (unsigned i = 0; i < MANY / 4; i++) {
        grown[i] = keep(tslab_malloc(SIZE));
    }
    CHECK_SAY(hot_units() != 0, "%s", "a process that only takes what it had before lost its hot runs");
}

static void shuffle(unsigned n)
{
    uint64_t random = 9;
    for (unsigned i = n; i != 0; i--) {
        const size_t at = random_next(&random) % i;
        void *const object = objects[at];
        objects[at] = objects[i - 1];
        objects[i - 1] = object;
    }
}

/* One size after another, as much of each, freed in any order: by the thread itself, or by another, whose magazines
 * wait for its next slow operations. */
static void shift_sizes_with(struct exchange_of_work *other)
{
    enum { BYTES = 8 << 20 };
    static const size_t shifted[] = { 64, 96, 128, 192, 256 };
    uint64_t most = 0;
    for (size_t s = 0; s < COUNT_OF(shifted); s++) {
        const unsigned n = (unsigned)(BYTES / shifted[s]);
        for (unsigned i = 0; i < n; i++) {
            objects[i] = keep(tslab_malloc(shifted[s]));
        }
        const uint64_t weight = counter_get(&depot.units[RUN_USED]) << UNIT_SHIFT;
        most = s == 0 ? weight + (other == NULL ? weight / 4 : weight) : most;
        CHECK_SAY(weight <= most, "with objects of %zu bytes, slabs have %zu KiB", shifted[s], (size_t)weight / 1024);
        shuffle(n);
        for (unsigned i = 0; i < n && other == NULL; i++) {
            tslab_free(objects[i]);
        }
        if (other != NULL) {
            let_free(other, n);
        }
    }
}

IN_A_CHILD(shift_sizes)
{
    shift_sizes_with(NULL);
}

IN_A_CHILD(shift_sizes_that_another_frees)
{
    struct exchange_of_work work;
    const pthread_t thread = begin_work(&work, 64);
    shift_sizes_with(&work);
    end_work(&work, thread);
}

/* The exchange by itself: full trays of objects of 256 bytes. */

enum { TRADED = 256, TRAY = 64, TRADED_MOST = 64 * 1024 / TRADED, TRADED_TIMES = 4 };

static size_t traded;

static struct tray *full_tray(void)
{
    struct tray *const tray = tray_take(TRAY);
    CHECK(tray != NULL && traded + TRAY <= BULK);
    memcpy(tray_places(tray) + 1, objects + traded, TRAY * sizeof objects[0]);
    tray->count = TRAY;
    traded += TRAY;
    return tray;
}

/* A heap keeps a tray, and hands it over. */
static bool put(unsigned class, struct tray *tray, struct tray **empty)
{
    const bool is_kept = exchange_keep(class, tray), is_put = is_kept && exchange_put(class, tray, empty);
    if (is_kept && !is_put) {
        exchange_unkeep(class, tray);
    }
    return is_put;
}

/* Puts trays until the exchange refuses one, which is returned. */
static struct tray *put_until_refused(unsigned class)
{
    for (unsigned i = 0; i < 8 * TRADED_MOST; i++) {
        objects[i] = keep(tslab_malloc(TRADED));
    }
    struct tray *tray = full_tray(), *empty;
    while (put(class, tray, &empty)) {
        CHECK(empty == NULL);
        tray = full_tray();
    }
    return tray;
}

IN_A_CHILD(trade)
{
    const unsigned class = class_of_size(TRADED);
    struct tray *empty = NULL, *spare = NULL, *const tray = put_until_refused(class);
    CHECK_SAY(exchange_slots(class) == TRADED_MOST, "%u slots", exchange_slots(class));
    /* A class that is refused often and not asked for drains: it gives, and takes nothing. */
    for (unsigned refused = TRAY; refused < TRADED_TIMES * TRADED_MOST; refused += TRAY) {
        exchange_drain(class);
        CHECK(!exchange_is_draining(class) && !put(class, tray, &empty));
    }
    CHECK(exchange_slots(class) == TRADED_MOST && !put(class, tray, &empty));
    exchange_drain(class);
    CHECK(exchange_is_draining(class) && exchange_slots(class) == TRADED_MOST - TRAY);
    CHECK(!put(class, tray, &empty));
    /* A thread asks for the class, and leaves an empty tray for the full one. The next thread that puts gets it. */
    spare = tray_take(TRAY);
    struct tray *const left = spare, *const taken = exchange_take(class, &spare);
    CHECK(taken != NULL && spare == NULL && !exchange_is_draining(class));
    CHECK(put(class, taken, &empty) && empty == left);
    CHECK(put(class, tray, &empty) && empty == NULL && exchange_slots(class) == TRADED_MOST);
    /* A class that is emptied and wants more, soon after slots found no room, gets more room. */
    struct tray *all[TRADED_MOST / TRAY];
    for (unsigned i = 0; i < COUNT_OF(all); i++) {
        all[i] = exchange_take(class, &spare);
        CHECK(all[i] != NULL);
    }
    CHECK(exchange_take(class, &spare) == NULL);
    for (unsigned i = 0; i < COUNT_OF(all); i++) {
        CHECK(put(class, all[i], &empty));
    }
    struct tray *const more = full_tray();
    CHECK(put(class, more, &empty) && exchange_slots(class) == TRADED_MOST + TRAY);
    /* Trays that no thread asks for between two looks go back to their slabs. */
    const uint64_t now_ms = os_now_ms() + 3600 * 1000;
    CHECK(exchange_look(now_ms) && exchange_slots(class) == TRADED_MOST + TRAY);
    CHECK(exchange_look(now_ms + 249) && exchange_slots(class) == TRADED_MOST + TRAY);
    CHECK(exchange_look(now_ms + 250) && exchange_has_surplus());
    while (exchange_step()) {
    }
    CHECK(!exchange_look(now_ms + 251) && exchange_slots(class) == 0);
    CHECK(exchange_take(class, &spare) == NULL);
    /* Empty trays go with all the rest, although there is no slot. */
    struct tray *const last = full_tray();
    spare = left;
    CHECK(put(class, last, &empty) && exchange_take(class, &spare) == last);
    CHECK(exchanges[class].empties == left && exchange_slots(class) == 0);
    exchange_tick(true);
    CHECK(exchanges[class].empties == NULL);
}

/* Where the option sets the budget, the exchange counts there. */
IN_A_CHILD(trade_within_a_budget)
{
    const unsigned class = class_of_size(TRADED);
    (void)keep(tslab_malloc(1)); /* options are read */
    option_values[OPTION_CACHE_BYTES] = 3 * TRAY * TRADED + cache_budget_taken();
    (void)put_until_refused(class);
    CHECK_SAY(exchange_slots(class) >= TRAY && exchange_slots(class) < TRADED_MOST, "%u slots", exchange_slots(class));
}

static void *wait_for_end(void *end)
{
    pthread_barrier_wait(end);
    return NULL;
}

/* Where there are threads, there is an exchange. */
IN_A_CHILD(shift_sizes_beside_a_thread)
{
    pthread_barrier_t end;
    pthread_t thread;
    CHECK(pthread_barrier_init(&end, NULL, 2) == 0 && pthread_create(&thread, NULL, wait_for_end, &end) == 0);
    shift_sizes(argument);
    pthread_barrier_wait(&end);
    (void)thread_end(thread);
}

/* Generations of objects, which are freed in order but for one in ten, and those five generations later. Objects that
 * are made one after another are to lie together, in the last generation as in the first. */
IN_A_CHILD(drop_generations)
{
    enum { OBJECTS = 50000, GENERATIONS = 12, KEPT_FOR = 5, SIZE = 64, PAGE = 4096 };
    static void *kept[KEPT_FOR][OBJECTS / 10];
    unsigned together = 0;
    for (unsigned g = 0; g < GENERATIONS; g++) {
        together = 0;
        for (unsigned i = 0; i < OBJECTS; i++) {
            objects[i] = keep(tslab_malloc(SIZE));
            together += i != 0 && (uintptr_t)objects[i] / PAGE == (uintptr_t)objects[i - 1] / PAGE;
        }
        for (unsigned i = 0; i < OBJECTS; i++) {
            void **const place = i % 10 == 0 ? &kept[g % KEPT_FOR][i / 10] : &objects[i];
            tslab_free(*place);
            *place = objects[i];
        }
    }
    CHECK_SAY(together > OBJECTS / 20 * 19, "%u of %d objects lie in the page of the one before", together, OBJECTS);
}

/* Generations of objects, each of which is freed as a whole, in an order that is mixed within a few objects, as that of
 * a tree is. */
IN_A_CHILD(drop_trees)
{
    enum { OBJECTS = 50000, GENERATIONS = 12, MIXED = 8, SIZE = 120 };
    unsigned upwards = 0;
    for (unsigned g = 0; g < GENERATIONS; g++) {
        upwards = 0;
        for (unsigned i = 0; i < OBJECTS; i++) {
            objects[i] = keep(tslab_malloc(SIZE));
            upwards += i != 0 && (uintptr_t)objects[i] > (uintptr_t)objects[i - 1];
        }
        for (unsigned i = 0; i < OBJECTS; i++) {
            tslab_free(objects[i / MIXED * MIXED + i * 5 % MIXED]);
        }
    }
    CHECK_SAY(upwards > OBJECTS / 20 * 19, "%u of %d objects lie above the one before", upwards, OBJECTS);
}
