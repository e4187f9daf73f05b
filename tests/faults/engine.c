/* Every call of the operating system fails in turn, once or from then on. A failure is reported cleanly, nothing is
 * lost, and afterwards all works again. */
#include "engine.h"
#include "company.h"
#include "turns.h"

#include "common/guard.h"
#include "figures.h"
#include "space/reclaim.h"
#include "space/trap.h"
#include "thread/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <tslab/tslab.h>

/* A sanitizer does not know the child of a process of several threads. */
#if defined __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* The objects of the test. */
enum { OBJECTS = 600 };
static struct {
    char *start;
    size_t size;
} objects[OBJECTS];
static size_t refused;

/* Keeps what an allocation returned, or counts that it was refused. */
static char *keep_object(size_t i, char *p, size_t size)
{
    if (p == NULL) {
        CHECK(errno == ENOMEM);
        refused++;
        return NULL;
    }
    CHECK(tslab_usable_size(p) >= size);
    pattern_fill(p, size, i);
    objects[i].start = p;
    objects[i].size = size;
    return p;
}

static void allocate(size_t i)
{
    static const size_t sizes[] = { 1, 16, 64, 80, 200, 1000, 3000, 8000, 16000, 32000, 33000, 70000, 200000 };
    const size_t size = sizes[i % COUNT_OF(sizes)] + i % 7;
    errno = 0;
    if (i % 5 == 3) {
        char *const p = tslab_calloc(1, size);
        CHECK(p == NULL || all_zero(p, size));
        (void)keep_object(i, p, size);
    } else if (i % 5 == 4) {
        const size_t alignment = (size_t)16 << (i % 13);
        char *const p = tslab_aligned_alloc(alignment, size);
        CHECK((uintptr_t)p % alignment == 0);
        (void)keep_object(i, p, size);
    } else {
        (void)keep_object(i, tslab_malloc(size), size);
    }
}

static void reallocate(size_t i)
{
    if (objects[i].start != NULL) {
        const size_t size = i % 2 == 0 ? objects[i].size * 2 + 1 : objects[i].size / 3 + 1;
        errno = 0;
        char *const p = tslab_realloc(objects[i].start, size);
        /* Refused or not, the contents are there. */
        CHECK(pattern_holds(p == NULL ? objects[i].start : p, min_size(size, objects[i].size), i));
        CHECK(p != NULL || pattern_holds(objects[i].start, objects[i].size, i));
        (void)keep_object(i, p, size);
    }
}

static void release(size_t i)
{
    if (objects[i].start != NULL) {
        CHECK(pattern_holds(objects[i].start, objects[i].size, i));
        errno = 4711;
        tslab_free(objects[i].start);
        CHECK(errno == 4711);
        objects[i].start = NULL;
    }
}

static void *allocate_in_a_thread(void *argument)
{
    /* A thread that gets no memory for its record has nothing to free. */
    char *p = tslab_malloc(100);
    if (p != NULL) {
        tslab_free(p);
    } else {
        refused++;
    }
    return NULL;
}

static size_t work(size_t count)
{
    refused = 0;
    for (size_t i = 0; i < count; i++) {
        allocate(i);
        if (i % 3 == 0) {
            reallocate(i / 2);
        }
        if (i % 4 == 0) {
            release(i / 3);
        }
        if (i % 64 == 0) {
            in_a_thread(allocate_in_a_thread, NULL);
        }
        if (i % 512 == 100) {
            (void)tslab_trim();
        }
    }
    for (size_t i = 0; i < count; i++) {
        release(i);
    }
    return refused;
}

/* An arena that does not fill up. */
#define ROOMY (8 * GIB)

struct plan {
    struct turn turn;
    bool refuses; /* a NULL is expected, once at least */
    size_t arena_bytes;
    size_t count;
};

/* Works with failures, then without. */
static void run_plan(const struct turn *turn)
{
    const struct plan *const plan = (const struct plan *)turn;
    live_in_arena_of(plan->arena_bytes);
    turn_begins(turn);
    const size_t refused_then = work(plan->count);
    turn_ends(turn);
    /* Later failures may find enough that was freed before. */
    CHECK_SAY(!plan->refuses || turn->from > 0 || refused_then > 0, "nothing was refused");
    CHECK_SAY(!is_hint(turn->call) || plan->arena_bytes != ROOMY || refused_then == 0, "%zu were refused",
              refused_then);
    /* With a small arena, small objects may find no room even without failures. */
    if (plan->arena_bytes == ROOMY) {
        CHECK_SAY(work(plan->count) == 0, "it does not work again");
    }
    check_nothing_is_lost();
}

/* The call fails once, in each turn, and then from each turn on. */
static void fail_in_turn(enum call call, unsigned least, unsigned most, unsigned stride)
{
    for (int once = 1; once >= 0; once--) {
        struct plan plan = { .turn = { .call = call, .once = once != 0, .run = run_plan },
                             .refuses = call == PLACE && once == 0,
                             .arena_bytes = ROOMY,
                             .count = OBJECTS };
        turns(&plan.turn, least, most * stride, stride, 0);
    }
}

/* Nothing at all can be had, or nothing where the engine looks of its own accord. */
IN_A_CHILD(start_in_vain)
{
    inject(PLACE, 0, UINT32_MAX);
    arena = (struct arena){ .units = NULL };
    CHECK(!arena_start(TIB));
    errno = 0;
    CHECK(tslab_malloc(1) == NULL && errno == ENOMEM);
    errno = 4711;
    tslab_free(NULL);
    CHECK(errno == 4711 && tslab_trim() == 0);
    place_fails_by = OS_TAKEN;
    CHECK(!arena_start(TIB));
    const unsigned reserved = calls_made[RESERVE];
    CHECK(reserved > 0);
    inject(RESERVE, 0, UINT32_MAX);
    CHECK(arena_start(TIB)); /* a place at random is better than what the system would choose */
    CHECK(calls_made[RESERVE] == reserved);
    const uintptr_t at_random = arena.base;
    arena = (struct arena){ .units = NULL };
    inject(PLACE, calls_made[PLACE], calls_made[PLACE] + 4);
    CHECK(arena_start(TIB));
    CHECK(arena.span_units == arena_page_down(TIB / UNIT_BYTES) && arena.base != at_random);
    inject_nothing();
    CHECK(work(OBJECTS) == 0);
    check_nothing_is_lost();
}

/* Two calls fail at once. */

static unsigned places_granted;

static enum os_placed place_some(void *start, size_t bytes, enum os_access access)
{
    return places_granted == 0 ? OS_TAKEN : (places_granted--, real.place(start, bytes, access));
}

IN_A_CHILD(start_in_vain_twice)
{
    for (int round = 0; round < 3; round++) {
        arena = (struct arena){ .units = NULL };
        inject(round == 0 ? RESERVE : UNMAP, 0, UINT32_MAX);
        os_calls.place = place_some;
        places_granted = round == 2 ? 3 : 0; /* the units and two tables, which then cannot be unmapped */
        CHECK(!arena_start(TIB));
        CHECK(tslab_malloc(1) == NULL && errno == ENOMEM);
    }
    inject_nothing();
    CHECK(arena_start(TIB));
    CHECK(work(OBJECTS) == 0);
    check_nothing_is_lost();
}

TEST(a_refused_commit)
{
    fail_in_turn(PLACE, 8, 12, 1);
}

/* Somebody else is where the arena would grow: nothing is refused for that. */
TEST(a_place_that_is_taken)
{
    struct plan plan = { .turn = { .call = PLACE, .once = true, .run = run_plan },
                         .arena_bytes = ROOMY,
                         .count = OBJECTS };
    place_fails_by = OS_TAKEN;
    turns(&plan.turn, 8, 20, 1, 0);
    place_fails_by = OS_NO_MEMORY;
}

static enum os_placed place_little(void *start, size_t bytes, enum os_access access)
{
    return bytes <= MIB ? real.place(start, bytes, access) : OS_NO_MEMORY;
}

/* When memory is short, what is asked for may fit where a step in advance does not. */
IN_A_CHILD(a_commit_of_a_step_is_no_condition)
{
    inject_nothing();
    os_calls.place = place_little;
    CHECK_SAY(work(OBJECTS) == 0, "%zu allocations were refused", refused);
    inject_nothing();
    check_nothing_is_lost();
}

TEST(a_refused_mapping)
{
    if (!GUARDED) {
        return;
    }
    /* Memory for records: between guard pages it is made accessible piece by piece (without, see
     * threads_without_records).
     */
    fail_in_turn(COMMIT, 5, 8, 5);
}

/* Guard pages, and what is trapped. */
TEST(a_refused_guard)
{
    if (!GUARDED) {
        return;
    }
    fail_in_turn(FORBID, 5, 8, 11);
}

TEST(a_refused_purge)
{
    fail_in_turn(PURGE, 3, 6, 3);
}

enum { THREADS = 100, EACH = OBJECTS / THREADS };

static pthread_barrier_t barrier;
static atomic_int threads_refused;
static atomic_int forks;
static bool forks_without_record;

/* The child has a record for the fork, and memory afterwards. */
static void fork_and_work(size_t i)
{
    const pid_t pid = fork();
    if (pid == 0) {
        inject_nothing();
        for (size_t at = i; at < i + EACH; at++) {
            tslab_free(keep(tslab_malloc(100)));
        }
        _exit(0);
    }
    child_ends_well(pid);
}

/* Each thread has a share of the objects to free, whether it has a record or not. */
static void *allocate_twice(void *argument)
{
    const size_t first = (size_t)(uintptr_t)argument * EACH;
    void *p = tslab_malloc(100);
    CHECK(p != NULL || errno == ENOMEM);
    CHECK(p != NULL || tslab_usable_size(p) == 0);
    tslab_free(NULL);
    atomic_fetch_add(&threads_refused, p == NULL);
    for (size_t i = first; i < first + EACH; i++) {
        CHECK(objects[i].start == NULL || tslab_usable_size(objects[i].start) >= objects[i].size);
        release(i);
    }
    pthread_barrier_wait(&barrier); /* all have tried, none has ended */
    if (p == NULL && forks_without_record && atomic_fetch_add(&forks, 1) < 3) {
        fork_and_work(first);
    }
    pthread_barrier_wait(&barrier); /* and now there is memory again */
    if (p == NULL) {
        p = tslab_malloc(100);
    }
    CHECK(p != NULL);
    tslab_free(p);
    return NULL;
}

/* More threads at once than there is memory for their records. */
static void threads_without_records(const void *argument)
{
    forks_without_record = argument != NULL;
    live_in_arena_of(ROOMY);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < OBJECTS; i++) {
        allocate(i);
    }
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0);
    inject(MAP, 0, UINT32_MAX);
    threads_begin(threads, THREADS, allocate_twice, NULL, 1);
    pthread_barrier_wait(&barrier);
    CHECK_SAY(atomic_load(&threads_refused) > THREADS / 2, "%d threads have no record", atomic_load(&threads_refused));
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.threads < THREADS / 2);
    inject_nothing();
    pthread_barrier_wait(&barrier);
    threads_end(threads, THREADS);
    check_nothing_is_lost();
}

TEST(no_memory_for_a_thread)
{
    if (GUARDED) {
        return;
    }
    child_succeeds(threads_without_records, NULL, "");
    if (!SANITIZED) {
        child_succeeds(threads_without_records, "and forks", "");
    }
}

static bool purge_objects_only(void *start, size_t bytes)
{
    if ((uintptr_t)start >= arena.base) {
        return real.purge(start, bytes);
    }
    note_site(PURGE, SITE);
    return false;
}

/* Long empty memory loses its pages, but not those of the tables about it: that costs memory, and nothing else. */
static void purge_without_tables(const void *argument)
{
    enum { BYTES = 64 << 20 };
    live_in_arena_of(ROOMY);
    inject_nothing();
    os_calls.purge = purge_objects_only;
    char *const p = memset(keep(tslab_malloc(BYTES)), 1, BYTES);
    const size_t before_kib = resident_kib();
    tslab_free(p);
    (void)tslab_trim();
    CHECK(resident_kib() + BYTES / 1024 * 9 / 10 < before_kib);
    char *const q = tslab_calloc(1, BYTES);
    CHECK(q != NULL && all_zero(q, BYTES));
    tslab_free(q);
    CHECK(work(OBJECTS) == 0);
    inject_nothing();
    check_nothing_is_lost();
}

TEST(tables_that_stay)
{
    if (!GUARDED) { /* which traps what is freed */
        child_succeeds(purge_without_tables, NULL, "");
    }
}

static bool keep_pages(void *start, size_t bytes)
{
    note_site(PURGE, SITE);
    return false;
}

/* The pause after a refusal is measured by it. */
static void pause_by_a_wrong_clock(const void *argument)
{
    live_in_arena_of(8 * MIB);
    option_values[OPTION_RETAIN_BYTES] = 0;
    inject(CLOCK, 0, UINT32_MAX);
    os_calls.purge = keep_pages;
    tslab_free(memset(keep(tslab_malloc(4 * MIB)), 1, 4 * MIB));
    os_calls.purge = real.purge;
    option_values[OPTION_RETAIN_BYTES] = GIB;
    /* Dirty and clean memory in a row serves when the one is purged, or is not had, for purging pauses. */
    for (int i = 0; i < 20; i++) {
        char *const p = tslab_malloc(7 * MIB);
        CHECK(p != NULL || errno == ENOMEM);
        tslab_free(p);
        char *const q = tslab_malloc(3 * MIB);
        CHECK(q != NULL || GUARDED); /* traps keep the addresses */
        tslab_free(q == NULL ? NULL : memset(q, 1, 3 * MIB));
    }
    inject_nothing();
    check_nothing_is_lost();
}

TEST(a_clock_that_cannot_be_trusted)
{
    child_succeeds(pause_by_a_wrong_clock, NULL, "");
    fail_in_turn(CLOCK, 8, 9, 7);
}

static void *take_and_let_go(void *lock)
{
    for (int i = 0; i < 100; i++) {
        lock_acquire(lock);
        lock_release(lock);
    }
    return NULL;
}

static const enum call calls_of_wait_in_vain[] = { WAIT, WAKE };

/* Threads that cannot sleep while they wait for a lock, for the kernel does not let them, get it all the same. */
IN_CHILDREN(wait_in_vain, calls_of_wait_in_vain)
{
    const enum call call = *(const enum call *)argument;
    enum { WAITING = 4 };
    pthread_t threads[WAITING];
    static struct lock lock = LOCK_INIT(RANK_DEPOT);
    inject(call, 0, UINT32_MAX);
    lock_acquire(&lock);
    threads_begin(threads, WAITING, take_and_let_go, &lock, 0);
    while (atomic_load(&lock.word) == 1) { /* held, and nobody waits */
        sched_yield();
    }
    lock_release(&lock);
    threads_end(threads, WAITING);
    CHECK(calls_made[call] > 0);
    CHECK(atomic_load(&lock.word) == 0);
}

IN_A_CHILD_IF(!GUARDED, a_trim_counts_what_it_gave_back)
{
    enum { BYTES = 4 << 20 };
    option_values[OPTION_RETAIN_BYTES] = 64 * MIB;
    option_values[OPTION_PURGE_DELAY_MS] = 3600 * 1000;
    char *const p = tslab_malloc(BYTES);
    CHECK(p != NULL);
    memset(p, 1, BYTES);
    tslab_free(p);
    inject(PURGE, 0, UINT32_MAX);
    const size_t refused_bytes = tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.dirty_bytes >= BYTES && figure("purged_bytes") == 0);
    CHECK_SAY(refused_bytes == 0, "a trim that gave back nothing returned %zu", refused_bytes);
    inject_nothing();
    CHECK(tslab_trim() >= BYTES);
    tslab_stats_get(&stats);
    CHECK(stats.dirty_bytes == 0 && figure("purged_bytes") >= BYTES);
    /* The pages that the kernel kept were not handed out as zero. */
    char *const zero = tslab_calloc(1, BYTES);
    CHECK(zero != NULL && all_zero(zero, BYTES));
}

IN_A_CHILD(memory_that_was_not_purged_is_not_zero)
{
    enum { BYTES = 3 << 20 }; /* no hot run */
    option_values[OPTION_RETAIN_BYTES] = 0;
    inject(PURGE, 0, UINT32_MAX);
    for (int i = 0; i < 20; i++) {
        char *const p = tslab_calloc(1, BYTES);
        CHECK(p != NULL && all_zero(p, BYTES));
        memset(p, 0xa5, BYTES);
        tslab_free(p);
    }
    CHECK(calls_made[PURGE] > 0);
}

/* realloc copies where pages cannot be moved. */
IN_A_CHILD(pages_that_stay_where_they_are)
{
    enum { BYTES = 4 << 20 };
    inject(MOVE, 0, UINT32_MAX);
    char *const p = keep(tslab_malloc(BYTES));
    (void)keep(tslab_malloc(BYTES));
    pattern_fill(p, BYTES, 1);
    CHECK(pattern_holds(keep(tslab_realloc(p, 4 * BYTES)), BYTES, 1));
    CHECK(GUARDED || calls_made[MOVE] != 0);
}

/* The clock goes wrong where the control group is looked at, and at a limit. */
IN_A_CHILD(a_limit_at_a_wrong_time)
{
    enum { BYTES = 1 << 20, COUNT = 200 };
    inject(CLOCK, 0, UINT32_MAX);
    CHECK(tslab_limits_set(&(struct tslab_limits){ .hard_bytes = (size_t)COUNT / 2 * BYTES }) == TSLAB_OK);
    size_t granted = 0;
    for (size_t i = 0; i < COUNT; i++) {
        granted += tslab_malloc(BYTES) != NULL;
        tslab_free(keep(tslab_malloc(16)));
    }
    CHECK_SAY(granted > 10 && granted <= COUNT / 2, "%zu were granted", granted);
    CHECK(calls_made[CLOCK] != 0);
}

/* The keeper beside faults of each of its calls: it cannot sleep, cannot be woken, or has a wrong clock. */

static pthread_barrier_t keeper_works;

/* At least three bursts, and more until the call was made: the keeper may have to wait for a processor. */
static void *have_bursts(void *argument)
{
    enum { BYTES = 100000, COUNT = 200 };
    const enum call call = *(const enum call *)argument;
    void *all[COUNT];
    for (unsigned round = 0; round < 3 || atomic_load(&calls_made[call]) == 0; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            all[i] = keep(tslab_malloc(BYTES));
            memset(all[i], 1, BYTES);
        }
        for (size_t i = 0; i < COUNT; i++) {
            tslab_free(all[i]);
        }
        usleep(400000);
    }
    (void)pthread_barrier_wait(&keeper_works);
    return NULL;
}

static void keep_in_vain(const void *argument)
{
    enum call call = *(const enum call *)argument;
    pthread_t thread;
    option_values[OPTION_PURGE] = PURGE_EAGER; /* there is soon nothing left to do */
    inject(call, 0, UINT32_MAX);
    CHECK(pthread_barrier_init(&keeper_works, NULL, 2) == 0);
    make_counted(&thread, have_bursts, &call);
    (void)have_bursts(&call);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(calls_made[call] != 0);
    inject_nothing();
    (void)tslab_trim();
}

/* A keeper that sleeps, or that a word says sleeps, is not woken. The word says afterwards that nobody sleeps. */
static void wake_in_vain(const void *argument)
{
    inject(WAKE, 0, UINT32_MAX);
    store_seq_cst(&reclaim_waits, RECLAIM_SLEEPS);
    reclaim_wake();
    CHECK(calls_made[WAKE] == 1 && load_seq_cst(&reclaim_waits) == 0);
}

TEST(the_keeper_is_no_failure)
{
    static const enum call calls[] = { WAIT, WAKE, CLOCK };
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        child_succeeds(keep_in_vain, &calls[i], "");
    }
    child_succeeds(wake_in_vain, NULL, "");
}

static bool on_request(void)
{
    return true;
}

/* Grows until the engine asks for huge pages, twice. A failure of these calls is no failure of anything else. */
static void grow_in_vain(const struct turn *turn)
{
    enum { COUNT = 7000, BYTES = 8000 };
    static char *all[COUNT];
    inject_nothing();
    real.huge_on_request = on_request;
    turn_begins(turn);
    live_in_arena_of(ROOMY);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            all[i] = keep(tslab_malloc(BYTES));
            pattern_fill(all[i], BYTES, i);
        }
        for (size_t i = 0; i < COUNT; i++) {
            CHECK(pattern_holds(all[i], BYTES, i));
            tslab_free(all[i]);
        }
        (void)tslab_trim();
    }
    turn_ends(turn);
    check_nothing_is_lost();
}

TEST(a_refused_huge_page)
{
    if (os_page_bytes() != HUGE_OF_PAGE_BYTES) {
        return;
    }
    for (int once = 0; once <= 1; once++) {
        struct turn turn = { .once = once != 0, .run = grow_in_vain };
        turn.call = ASK_HUGE;
        turns(&turn, 1, 2, 1, 0);
        turn.call = HUGE;
        turns(&turn, 2, 6, 1, 0);
        turn.call = CLOCK;
        turns(&turn, 2, 900, 300, 0);
        option_values[OPTION_HUGE_PAGES] = HUGE_PAGES_ALWAYS;
        turn.call = HUGE;
        turns(&turn, 3, 12, 3, 0);
        option_values[OPTION_HUGE_PAGES] = HUGE_PAGES_ADAPTIVE;
    }
}
