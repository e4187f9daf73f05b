/* Limits of the process: what exceeds them is refused, what waits goes back first, the program is told once, and the
 * limits of a control group are seen. */
#include "child.h"
#include "engine.h"
#include "faults.h"
#include "groups.h"

#include "os/container.h"
#include "space/limit.h"
#include "space/reclaim.h"
#include "thread/heap.h"
#include "thread/thread.h"

#include <pthread.h>
#include <tslab/tslab.h>

enum { HARD_MIB = 64, MOST = 4096 };

static void *blocks[MOST];

static void set_limits(size_t hard_mib, size_t soft_mib)
{
    CHECK(tslab_limits_set(&(struct tslab_limits){ .hard_bytes = hard_mib * MIB, .soft_bytes = soft_mib * MIB }) ==
          TSLAB_OK);
}

/* Allocates until it is refused, or so many. Returns the bytes. */
static size_t fill(size_t bytes, size_t most)
{
    size_t n = 0;
    errno = 0;
    while (n < most && (blocks[n] = tslab_malloc(bytes)) != NULL) {
        memset(blocks[n], 1, bytes);
        n++;
    }
    CHECK_SAY(n == most || errno == ENOMEM, "errno is %d", errno);
    return n * bytes;
}

static void empty(void)
{
    for (size_t i = 0; i < MOST; i++) {
        tslab_free(blocks[i]);
        blocks[i] = NULL;
    }
}

IN_A_CHILD(what_exceeds_is_refused)
{
    static const size_t sizes[] = { 30000, 200000, 1 << 20, 5 << 20 };
    set_limits(HARD_MIB, 0);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const size_t bytes = fill(sizes[i], MOST);
        CHECK_SAY(bytes <= HARD_MIB * MIB && bytes > (HARD_MIB - 12) * MIB, "%zu: %zu bytes", sizes[i], bytes);
        CHECK(tslab_limits_get(NULL) <= HARD_MIB * MIB);
        CHECK(tslab_malloc(2 * HARD_MIB * MIB) == NULL && errno == ENOMEM);
        void *const grown = tslab_realloc(blocks[0], 2 * HARD_MIB * MIB);
        CHECK(grown == NULL && ((const char *)blocks[0])[sizes[i] - 1] == 1);
        /* It is there again when something is freed, and what waits in caches is no obstacle. */
        empty();
    }
    CHECK(limits.refusals != 0);
}

/* Free memory in caches and slabs of another size serves before anything is refused. */
IN_A_CHILD(all_goes_back_first)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    option_values[OPTION_PURGE] = PURGE_NEVER;
    set_limits(HARD_MIB, 0);
    for (size_t size = 100; size < 200000; size *= 3, clock_ms += 20) {
        const size_t count = min_size(MOST, 40 * MIB / size);
        CHECK(fill(size, count) == count * size);
        empty();
        void *const large = keep(tslab_malloc(50 * MIB));
        memset(large, 1, 50 * MIB);
        tslab_free(large);
    }
}

/* Repeated attempts do not make the library search each time. */
/* Threads that have freed large blocks, and rest. */
enum { RESTING_THREADS = 30, BLOCKS_OF_EACH = 7 };
static pthread_barrier_t freed, ends;

static void *free_and_rest(void *unused)
{
    void *of_thread[BLOCKS_OF_EACH];
    for (unsigned i = 0; i < BLOCKS_OF_EACH; i++) {
        of_thread[i] = tslab_malloc(270000);
        CHECK(of_thread[i] != NULL);
        memset(of_thread[i], 1, 270000);
    }
    for (unsigned i = 0; i < BLOCKS_OF_EACH; i++) {
        tslab_free(of_thread[i]);
    }
    (void)pthread_barrier_wait(&freed);
    (void)pthread_barrier_wait(&ends);
    return unused;
}

IN_A_CHILD(what_resting_threads_keep_goes_back)
{
    pthread_t threads[RESTING_THREADS];
    set_limits(HARD_MIB, 0);
    CHECK(pthread_barrier_init(&freed, NULL, RESTING_THREADS + 1) == 0);
    CHECK(pthread_barrier_init(&ends, NULL, RESTING_THREADS + 1) == 0);
    threads_begin(threads, RESTING_THREADS, free_and_rest, NULL, 0);
    (void)pthread_barrier_wait(&freed);
    void *const block = tslab_malloc((HARD_MIB - 2) * MIB);
    CHECK(block != NULL);
    tslab_free(block);
    (void)pthread_barrier_wait(&ends);
    threads_end(threads, RESTING_THREADS);
}

/* Objects by the name of their epoch, and such as grow in it, are served where plain malloc is. */
IN_A_CHILD(what_is_free_serves_by_name)
{
    enum { SMALL = 200, FIVE_KB = 5000, NAMED = 50 };
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    size_t count = 0;
    struct chain {
        struct chain *next;
    } *kept = NULL;
    void *grows = tslab_epoch_malloc(epoch, SMALL);
    CHECK(grows != NULL);
    set_limits(HARD_MIB, 0);
    for (struct chain *one; (one = tslab_malloc(SMALL)) != NULL; count++) {
        one->next = kept;
        kept = one;
    }
    const uint64_t refusals = counter_get(&limits.refusals);
    /* Of eighty objects in a row the first forty go, so that whole pages inside slabs are free. */
    struct chain **last = &kept;
    for (size_t i = 0; i < count; i++) {
        struct chain *const one = *last;
        if (i % 80 < 40) {
            *last = one->next;
            tslab_free(one);
        } else {
            last = &one->next;
        }
    }
    for (size_t i = 0; i < NAMED; i++) {
        CHECK_SAY(tslab_epoch_malloc(epoch, FIVE_KB) != NULL, "after %zu", i);
    }
    CHECK((grows = tslab_realloc(grows, 100 * FIVE_KB)) != NULL);
    CHECK(counter_get(&limits.refusals) == refusals);
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
}

/* Caches of the process are no part of what an epoch's limit counts: they stay where that refuses. */
IN_A_CHILD(an_epochs_refusal_empties_no_cache)
{
    const struct tslab_epoch_options options = { .limit_bytes = MIB };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    set_limits(HARD_MIB, 0);
    (void)fill(64, 32);
    empty();
    const struct magazine *const magazine = &front_current->thread->heap.front.magazine[class_of_size(64)];
    const size_t cached = magazine_slots(magazine);
    CHECK(cached != 0 && tslab_epoch_malloc(epoch, 2 * MIB) == NULL);
    CHECK(tslab_epoch_enter(epoch) >= TSLAB_OK && tslab_malloc(2 * MIB) == NULL);
    CHECK(tslab_epoch_leave(epoch) == TSLAB_OK);
    CHECK(counter_get(&limits.epoch_refusals) == 2 && magazine_slots(magazine) == cached);
    CHECK(tslab_malloc(2 * HARD_MIB * MIB) == NULL && magazine_slots(magazine) == 0);
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
}

IN_A_CHILD(refusals_are_quick)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    set_limits(HARD_MIB, 0);
    (void)fill(MIB, MOST);
    struct tslab_stats before, after;
    tslab_stats_get(&before);
    const unsigned calls = atomic_load(&calls_made[PURGE]);
    for (unsigned i = 0; i < 10000; i++) {
        CHECK(tslab_malloc(MIB) == NULL);
    }
    tslab_stats_get(&after);
    CHECK_SAY(atomic_load(&calls_made[PURGE]) - calls < 64, "%u calls", atomic_load(&calls_made[PURGE]) - calls);
}

/* Free pages of used slabs count at the limit all the same: a refusal does not look for them. */
IN_A_CHILD(refusals_look_at_no_slab)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    const size_t size = 3000, count = fill(size, MOST) / size;
    set_limits(20, 0);
    for (size_t i = 0; i < count; i += 8) { /* a page in each slab */
        for (size_t j = i; j < min_size(i + 4, count); j++) {
            tslab_free(blocks[j]);
            blocks[j] = NULL;
        }
    }
    CHECK(tslab_malloc(30 * MIB) == NULL);
    const unsigned calls = atomic_load(&calls_made[PURGE]);
    for (size_t i = 4; i < count; i += 8) {
        tslab_free(blocks[i]);
        blocks[i] = NULL;
        clock_ms += 1000;
        CHECK(tslab_malloc(30 * MIB) == NULL);
    }
    CHECK_SAY(atomic_load(&calls_made[PURGE]) - calls < 16, "%u calls", atomic_load(&calls_made[PURGE]) - calls);
}

/* Long blocks come out of rows of empty runs, of which some have no pages yet. */
static void what_lives_never_exceeds_the_limit(const void *argument)
{
    enum { BLOCKS = 400, ROUNDS = 20000 };
    static size_t sizes[BLOCKS];
    uint64_t seed = 7;
    size_t live = 0;
    option_values[OPTION_PURGE] = *(const uint64_t *)argument;
    set_limits(3 * HARD_MIB, 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t random = random_next(&seed);
        const size_t at = random % BLOCKS;
        if (blocks[at] != NULL) {
            live -= sizes[at];
            tslab_free(blocks[at]);
            blocks[at] = NULL;
        }
        if (random >> 20 & 1) {
            sizes[at] = (random >> 32) % (12 * MIB) + 300000;
            blocks[at] = tslab_malloc(sizes[at]);
            live += blocks[at] != NULL ? sizes[at] : 0;
        }
        CHECK_SAY(live <= 3 * HARD_MIB * MIB && tslab_limits_get(NULL) <= 3 * HARD_MIB * MIB, "%zu bytes live, %zu",
                  live, tslab_limits_get(NULL));
    }
    CHECK(limits.refusals != 0);
}

/* Huge pages and growth in place are what an allocation can do without. A request refused first and served in the end
 * is no refusal either. */

static bool on_request(void)
{
    return true;
}

static bool allow_nothing(void *start, size_t bytes, bool allowed)
{
    return true;
}

IN_A_CHILD(only_what_fails_is_counted)
{
    uint64_t seed = 11, refused = 0;
    inject_nothing();
    os_calls.huge_on_request = on_request;
    os_calls.allow_huge = allow_nothing;
    live_in_arena_of(option_get(OPTION_ARENA_BYTES)); /* whose start asks */
    set_limits(HARD_MIB, 0);
    for (size_t bytes = 0; bytes < HARD_MIB * MIB * 125 / 128; bytes += 128) {
        *(char *)keep(tslab_malloc(128)) = 1;
    }
    CHECK_SAY(limits.refusals == 0, "%llu refusals", (unsigned long long)limits.refusals);
    set_limits(HARD_MIB + 16, 0);
    for (unsigned i = 0; i < 20000; i++) {
        const uint64_t random = random_next(&seed);
        void **const block = &blocks[random % 300];
        /* A realloc to less that finds no room stays where it is. */
        const size_t bytes = max_size(tslab_usable_size(*block), 100) << (random >> 20) % 4;
        if (bytes > 4 * MIB || (random >> 40) % 3 == 0) {
            tslab_free(*block);
            *block = NULL;
        } else {
            void *const grown = tslab_realloc(*block, bytes + (random >> 44) % bytes);
            refused += grown == NULL;
            *block = grown != NULL ? grown : *block;
        }
        CHECK_SAY(limits.refusals == refused, "%llu refusals are counted, there were %llu",
                  (unsigned long long)limits.refusals, (unsigned long long)refused);
    }
    CHECK(refused != 0);
}

/* The line tells of the moment of failure, when all that is free has gone back. */
static void fill_caches_and_fail(const void *argument)
{
    set_limits(HARD_MIB, 0);
    (void)fill(270000, 7);
    void *const kept = keep(tslab_malloc(40 * MIB));
    empty();
    CHECK(tslab_malloc((HARD_MIB - 39) * MIB) == NULL);
    fprintf(stderr, "%zu\n", tslab_limits_get(NULL));
    tslab_free(kept);
}

TEST(the_line_is_of_now)
{
    const struct child child = child_run(fill_caches_and_fail, NULL);
    const char *const at = strstr(child.refused, "and it has ");
    CHECK_SAY(child.status == 0 && at != NULL, "%s", child.refused);
    const size_t used = strtoul(at + strlen("and it has "), NULL, 10);
    CHECK_SAY(used == strtoul(child.said, NULL, 10) && used >= 40 * MIB, "%s, not %s", at, child.said);
}

IN_A_CHILD(a_limit_below_what_is_in_use)
{
    CHECK(fill(MIB, 40) == 40 * MIB);
    set_limits(20, 0);
    CHECK(tslab_malloc(MIB) == NULL && errno == ENOMEM);
    for (unsigned i = 0; i < 40; i++) {
        CHECK(((const char *)blocks[i])[MIB - 1] == 1);
    }
    empty();
    CHECK(fill(MIB, MOST) >= 15 * MIB);
    set_limits(0, 0);
    tslab_free(keep(tslab_malloc(100 * MIB)));
}

/* The soft limit. */

static unsigned told;
static size_t told_bytes;

static void on_soft(size_t footprint_bytes, size_t soft_bytes, void *context)
{
    CHECK(context == &told && soft_bytes == 32 * MIB && footprint_bytes > soft_bytes);
    told++;
    told_bytes = footprint_bytes;
    tslab_free(keep(tslab_malloc(100000))); /* it may allocate */
}

IN_A_CHILD(the_program_is_told_once)
{
    const struct tslab_limits set = { .soft_bytes = 32 * MIB, .on_soft = on_soft, .context = &told };
    option_values[OPTION_RETAIN_BYTES] = GIB;
    CHECK(tslab_limits_set(&set) == TSLAB_OK);
    for (unsigned round = 1; round <= 3; round++) {
        CHECK(fill(300000, 90) == 90 * 300000);
        CHECK_SAY(told == round - 1, "told %u times", told);
        for (size_t i = 90; i < 300; i++) {
            memset(blocks[i] = keep(tslab_malloc(300000)), 1, 300000);
        }
        CHECK_SAY(told == round, "told %u times", told);
        for (size_t i = 20; i < 300; i++) {
            tslab_free(blocks[i]);
            blocks[i] = NULL;
        }
        tslab_free(keep(tslab_malloc(2 * MIB)));
        empty();
    }
    CHECK(told_bytes < 40 * MIB);
}

/* Above it, nothing waits. */
IN_A_CHILD(above_it_nothing_waits)
{
    option_values[OPTION_RETAIN_BYTES] = GIB;
    CHECK(fill(MIB, 60) == 60 * MIB);
    for (size_t i = 40; i < 60; i++) {
        tslab_free(blocks[i]);
        blocks[i] = NULL;
    }
    CHECK((counter_get(&depot.units[RUN_DIRTY]) + HOT_UNITS) * UNIT_BYTES >= 18 * MIB);
    set_limits(0, 20);
    tslab_free(blocks[39]);
    blocks[39] = NULL;
    tslab_free(keep(tslab_malloc(3 * MIB)));
    CHECK(counter_get(&depot.units[RUN_DIRTY]) == 0);
}

IN_A_CHILD(what_is_set_is_told)
{
    struct tslab_limits found;
    CHECK(tslab_limits_set(NULL) == TSLAB_INVALID);
    set_limits(100, 50);
    CHECK(tslab_limits_get(&found) < MIB && found.hard_bytes == 100 * MIB && found.soft_bytes == 50 * MIB);
    CHECK(found.on_soft == NULL);
}

/* Control groups. */

static bool used_and_limit(uint64_t used_bytes, uint64_t limit_bytes)
{
    struct container found;
    return container_look(&found) && found.limit_bytes == limit_bytes && found.left_bytes == limit_bytes - used_bytes;
}

IN_A_CHILD(version_2)
{
    struct container found;
    begin_groups("0::/app.slice/server\n");
    CHECK(!container_open() && !container_look(&found)); /* as at the root: no files */
    put_file("app.slice/server/memory.high", "");
    char pipe_path[300];
    snprintf(pipe_path, sizeof pipe_path, "%s/app.slice/server/memory.max", root);
    CHECK(mkfifo(pipe_path, 0600) == 0 && !container_open() && unlink(pipe_path) == 0); /* nobody waits for a writer */
    put_file("app.slice/server/memory.max", "max\n");
    put_file("app.slice/server/memory.high", "max\n");
    put_file("app.slice/server/memory.current", "1000000\n");
    put_file("app.slice/server/memory.stat", "anon 10\n");
    CHECK(!container_open() && !container_look(&found));
    put_file("app.slice/server/memory.high", "2000000\n");
    put_file("app.slice/server/memory.pressure",
             "some avg10=12.34 avg60=1.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    put_file("app.slice/memory.pressure", "some avg10=56.78 avg60=1.00 avg300=0.00 total=1\n");
    CHECK(container_open() && used_and_limit(1000000, 2000000));
    CHECK(container_look(&found));
    CHECK_SAY(found.stalled == 1234, "stalled %u", found.stalled);
    put_file("app.slice/server/memory.max", "1500000\n");
    CHECK(used_and_limit(1000000, 1500000));
    put_file("app.slice/server/memory.max", "max\n");
    put_file("app.slice/server/memory.high", "max\n");
    CHECK(!container_look(&found));
    put_file("app.slice/server/memory.max", "1500000\n");
    /* A group around it is closer to its limit. */
    put_file("app.slice/memory.max", "10000000\n");
    put_file("app.slice/memory.current", "9900000\n");
    put_file("app.slice/memory.stat", "anon 10\n");
    CHECK(container_open() && used_and_limit(9900000, 10000000));
    put_file("app.slice/memory.current", "nonsense");
    CHECK(used_and_limit(1000000, 1500000));
    end_groups();
}

IN_A_CHILD(version_1)
{
    struct container found;
    begin_groups("11:cpu,cpuacct:/x\n9:memory:/docker/abc\n1:name=systemd:/y\n0::/y\n");
    put_file("memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
    put_file("memory/docker/abc/memory.usage_in_bytes", "5000\n");
    put_file("memory/docker/abc/memory.stat", "cache 95000\ninactive_file 1\ntotal_inactive_file 40000\n");
    CHECK(!container_open());
    put_file("memory/docker/abc/memory.limit_in_bytes", "100000\n");
    CHECK(container_open() && used_and_limit(5000, 100000) && container_look(&found) && found.stalled == 0);
    put_file("memory/docker/abc/memory.usage_in_bytes", "99000\n");
    CHECK(used_and_limit(59000, 100000));
    end_groups();
}

/* Inside of a container the path of the group is often not to be seen, and its files are at the root. */
IN_A_CHILD(inside)
{
    begin_groups("0::/../../system.slice/docker-0123.scope\n");
    put_file("memory.max", "3000000\n");
    put_file("memory.current", "7\n");
    put_file("memory.stat", "anon 7\n");
    CHECK(container_open() && used_and_limit(7, 3000000));
    end_groups();
}

static void begin_container(void)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    begin_groups("0::/\n");
    put_file("memory.max", "100000000\n");
    put_use("50", "anon 50000000\n");
}

IN_A_CHILD(near_the_limit_nothing_waits)
{
    begin_container();
    option_values[OPTION_RETAIN_BYTES] = GIB;
    CHECK(fill(MIB, 70) == 70 * MIB);
    empty();
    limit_watch_container();
    CHECK(!limit_look_at_container() && !limit_presses() && counter_get(&depot.units[RUN_DIRTY]) != 0);
    put_use("95", "anon 95000000\n");
    CHECK(limit_look_at_container() && limit_presses());
    for (size_t before = SIZE_MAX; counter_get(&depot.units[RUN_DIRTY]) < before;) {
        before = counter_get(&depot.units[RUN_DIRTY]);
        reclaim_tick(); /* a step */
    }
    CHECK(counter_get(&depot.units[RUN_DIRTY]) == 0);
    put_use("90", "anon 90000000\n");
    CHECK(!limit_look_at_container() && limit_presses()); /* it goes on until an eighth is left */
    put_use("85", "anon 85000000\n");
    CHECK(!limit_look_at_container() && !limit_presses());
    put_use("90", "anon 90000000\n");
    CHECK(!limit_look_at_container() && !limit_presses());
    put_file("memory.pressure", "some avg10=25.00 avg60=1.00 avg300=0.00 total=1\n");
    CHECK(!limit_look_at_container()); /* that file was not there */
    limit_forget_container();
    limit_watch_container();
    CHECK(limit_look_at_container() && limit_presses());
    put_use("50", "anon 50000000\n");
    put_file("memory.pressure", "some avg10=8.00 avg60=1.00 avg300=0.00 total=1\n");
    CHECK(!limit_look_at_container() && limit_presses());
    put_file("memory.pressure", "some avg10=4.00 avg60=1.00 avg300=0.00 total=1\n");
    CHECK(!limit_look_at_container() && !limit_presses());
    put_use("99", "anon 99000000\n");
    CHECK(limit_look_at_container());
    limit_forget_container(); /* nobody watches any more */
    CHECK(!limit_presses() && !limit_look_at_container());
    end_groups();
}

/* Where there is no limit, nothing is opened again: not by the next keeper either. */
IN_A_CHILD(what_has_no_limit_is_not_watched)
{
    begin_container();
    put_file("memory.max", "max\n");
    limit_watch_container();
    put_file("memory.max", "100000000\n");
    put_use("99", "anon 1\n");
    CHECK(!limit_look_at_container() && !limit_presses());
    limit_forget_container();
    limit_watch_container();
    CHECK(!limit_look_at_container() && !limit_presses());
    end_groups();
}

/* A group that reads files is always full, and the kernel makes room in it. */
IN_A_CHILD(what_the_kernel_takes_back_is_free)
{
    begin_container();
    put_use("99", "anon 9000000\ninactive_anon 90000000\ninactive_file 30000000\nactive_file 30000000\n"
                  "slab_reclaimable 30000000\n");
    limit_watch_container();
    CHECK(!limit_look_at_container() && !limit_presses());
    CHECK(used_and_limit(9000000, 100000000));
    put_use("99", "anon 95000000\ninactive_file 1000000\nactive_file 1000000\nslab_reclaimable 1000000\n");
    CHECK(limit_look_at_container() && used_and_limit(96000000, 100000000));
    end_groups();
}

static unsigned naps;
static uint32_t longest_ms;
static const char *fills;

/* While it sleeps, the container fills. */
static void nap_and_fill(atomic_u32 *word, uint32_t expected, uint32_t most_ms)
{
    CHECK(load_plain(word) == 0 && expected == 0 && most_ms != 0);
    naps++;
    longest_ms = most_ms > longest_ms ? most_ms : longest_ms;
    if (naps == 4) {
        put_use(fills, "anon 1\n");
    }
}

static bool sleep_on_a_word(uint32_t ms)
{
    static atomic_u32 word;
    os_futex_wait(&word, 0, ms);
    return load_plain(&word) == 0;
}

static void nap(uint32_t ms, unsigned times, uint32_t of_ms)
{
    naps = 0;
    longest_ms = 0;
    limit_nap(sleep_on_a_word, ms);
    CHECK_SAY(naps == times && longest_ms == of_ms, "%u naps of %u ms", naps, longest_ms);
}

/* The keeper looks at a container that is close to its limit at shorter intervals, and works at once when it presses. A
 * keeper without the files looks at nothing. */
IN_A_CHILD(a_nap_ends_when_it_presses)
{
    begin_container();
    os_calls.futex_wait = nap_and_fill;
    put_use("99", "anon 1\n");
    nap(250, 1, 250);
    CHECK(!limit_presses());
    limit_watch_container();
    put_use("50", "anon 1\n");
    nap(250, 1, 250);
    CHECK(!limit_presses());
    put_use("80", "anon 1\n");
    fills = "80";
    nap(250, 1, 250);
    nap(250, 10, 25);
    CHECK(!limit_presses());
    fills = "99";
    nap(250, 4, 25);
    CHECK(limit_presses());
    nap(250, 10, 25);
    put_use("50", "anon 1\n");
    fills = "50";
    nap(250, 2, 225);
    CHECK(!limit_presses());
    end_groups();
}

TEST(hard_limit_and_rows)
{
    for (uint64_t policy = PURGE_ADAPTIVE; policy <= PURGE_NEVER; policy++) {
        child_succeeds(what_lives_never_exceeds_the_limit, &policy, "");
    }
}
